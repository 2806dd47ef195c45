"""From a kernel's primitives to tiles: its iteration domain, what its tiles need, and the schedule that fits."""

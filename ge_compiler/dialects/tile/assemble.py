"""One tile of all lanes' parts: the way from the vector lanes back to the cube."""

from __future__ import annotations

from xdsl.irdl import irdl_op_definition

from ge_compiler.dialects.index_list import verify_index_list
from ge_compiler.dialects.memory import Space
from ge_compiler.dialects.tile.moves import SLICE_FORMAT, SlicingOp
from ge_compiler.dialects.tile.rules import verify_inside, verify_room, verify_same_element, verify_tile


@irdl_op_definition
class AssembleOp(SlicingOp):
    """Put the part that each lane has, at the lane's own `offsets`, into one tile of `valid` extents, which the parts must fill.

    The tile is in L1 where the target has that path, else in global memory: a workspace of the core, which the cube loads.
    """

    name = "tile.assemble"

    assembly_format = SLICE_FORMAT

    def verify_(self) -> None:
        self.verify_form()
        verify_tile(self.source, "the part", Space.UB)
        verify_tile(self.tile_type(), "the tile", Space.GM, Space.L1)
        verify_same_element(self.source, self.tile_type())
        verify_index_list("offsets", self.offsets, self.static_offsets, 2)
        verify_index_list("valid extents", self.valid, self.static_valid, 2)
        verify_room("tile", self.static_valid, self.tile_type())
        # A part may be smaller than its room, so only where it starts must lie inside.
        verify_inside("the tile", self.tile_type(), self.static_offsets.get_values(), [0, 0])

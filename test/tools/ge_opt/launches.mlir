// An error inside a kernel that is launched several times says how often, and where first.
// RUN: ge-opt %s -p bufferize-tile --verify-diagnostics

!t = tensor<4x8xf32, #npu.mem<ub>>

func.func private @k(%x: tensor<4x8xf32>, %out: tensor<4x8xf32>) {
  %lane = npu.sub_block_idx
  %core = npu.block_idx
  %a = tile.load %x[0, 0] valid [%lane, 8] : tensor<4x8xf32> to !t
  %b = tile.load %x[0, 0] valid [%core, 8] : tensor<4x8xf32> to !t
  // expected-error@+1 {{'tile.add' op cannot tell that its operands have equally many valid rows: %core and %lane; name one extent for both}}
  %c = tile.add %a, %b : !t, !t -> !t
  func.return
}
func.func @main(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %d = tensor.empty() : tensor<4x8xf32>
  // expected-note@+1 {{launched here as layers.0.norm and 2 more}}
  %1 = fused.launch @k(%x) into (%d) on aicore {op_name = "layers.0.norm", ops = ["A"]} : (tensor<4x8xf32>) into (tensor<4x8xf32>) -> tensor<4x8xf32>
  %2 = fused.launch @k(%1) into (%d) on aicore {op_name = "layers.1.norm", ops = ["A"]} : (tensor<4x8xf32>) into (tensor<4x8xf32>) -> tensor<4x8xf32>
  %3 = fused.launch @k(%2) into (%d) on aicore {op_name = "layers.2.norm", ops = ["A"]} : (tensor<4x8xf32>) into (tensor<4x8xf32>) -> tensor<4x8xf32>
  func.return %3 : tensor<4x8xf32>
}

import CSimulatedKernel
import UsherSimulator

extension SimulatedKernel {
  /// The functions that replace those of the C library in this program.
  static var linked: SimulatedKernel {
    var kernel = SimulatedKernel()
    kernel.setTime = { simulated_kernel_set_time($0, $1) }
    kernel.escapes = { Int(simulated_kernel_escapes()) }
    kernel.ownSocket = { simulated_kernel_own_socket($0) }
    kernel.cutSockets = { simulated_kernel_cut_sockets() }
    kernel.disk.mount = { simulated_disk_mount($0) }
    kernel.disk.move = { simulated_disk_move($0) }
    kernel.disk.fail = { simulated_disk_fail($0.inC, $1) }
    kernel.disk.fill = { simulated_disk_fill($0) }
    kernel.disk.heal = { simulated_disk_heal() }
    kernel.disk.hasStopped = { simulated_disk_has_stopped() }
    kernel.disk.operations = { simulated_disk_operations() }
    kernel.disk.losePower = { simulated_disk_lose_power($0) }
    return kernel
  }
}

extension SimulatedDisk.Failure {
  fileprivate var inC: simulated_disk_fault {
    switch self {
    case .stops: SIMULATED_DISK_STOPS
    case .failsOnce: SIMULATED_DISK_FAILS_ONCE
    case .fails: SIMULATED_DISK_FAILS
    case .noDescriptors: SIMULATED_DISK_NO_DESCRIPTORS
    }
  }
}

import Glibc

/// The directory of the daemon's files.
///
/// SQLite knows the files that this process has open by their inodes, and a daemon that was killed
/// has not closed its files. So each daemon after a kill gets a copy of the files that it left.
final class MachineFiles {
  private let root: String
  private let disk: SimulatedDisk
  private var generation = 1

  /// - Parameter root: An empty directory.
  init(in root: String, _ disk: SimulatedDisk) throws(SimulationError) {
    self.root = root
    self.disk = disk
    try create()
    disk.mount(path)
  }

  /// The directory of the daemon that runs.
  var path: String { "\(root)/state-\(generation)" }

  private func create() throws(SimulationError) {
    guard mkdir(path, 0o700) == 0 else { throw SimulationError("mkdir", path) }
  }

  /// Gives the next daemon what a killed daemon has left on the disk.
  ///
  /// - Parameter powerFailure: Determines what the disk loses of what was not synced; nil if it
  ///   loses nothing, but may later.
  func restart(afterPowerFailure powerFailure: UInt64?) throws(SimulationError) {
    if let powerFailure { disk.losePower(powerFailure) }
    generation += 1
    try create()
    disk.move(path)
  }
}

/// The machine on which the simulation runs refuses a system call.
struct SimulationError: Error, CustomStringConvertible {
  let description: String

  init(_ call: String, _ path: String) {
    description = "\(call) of \(path): \(String(cString: strerror(errno)))"
  }
}

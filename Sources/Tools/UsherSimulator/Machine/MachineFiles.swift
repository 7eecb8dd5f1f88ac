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
  ///   loses nothing.
  func restart(afterPowerFailure powerFailure: UInt64?) throws(SimulationError) {
    if let powerFailure { disk.losePower(powerFailure) }
    disk.mount("")
    let old = path
    generation += 1
    try create()
    guard let directory = opendir(old) else { throw SimulationError("opendir", old) }
    defer { closedir(directory) }
    while let entry = readdir(directory) {
      let name = withUnsafeBytes(of: entry.pointee.d_name) { bytes in
        String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
      }
      // SQLite builds the index of the write-ahead log again.
      guard ![".", ".."].contains(name), !name.hasSuffix("-shm") else { continue }
      try copy("\(old)/\(name)", to: "\(path)/\(name)")
    }
    disk.mount(path)
  }

  private func copy(_ source: String, to target: String) throws(SimulationError) {
    var status = stat()
    let input = open(source, O_RDONLY | O_CLOEXEC)
    guard input >= 0, fstat(input, &status) == 0 else { throw SimulationError("open", source) }
    defer { close(input) }
    let output = open(target, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, status.st_mode & 0o777)
    guard output >= 0 else { throw SimulationError("open", target) }
    defer { close(output) }
    var bytes = [UInt8](repeating: 0, count: 1 << 16)
    while true {
      let count = read(input, &bytes, bytes.count)
      guard count > 0 else { break }
      guard write(output, bytes, count) == count else { throw SimulationError("write", target) }
    }
  }
}

/// The machine on which the simulation runs refuses a system call.
struct SimulationError: Error, CustomStringConvertible {
  let description: String

  init(_ call: String, _ path: String) {
    description = "\(call) of \(path): \(String(cString: strerror(errno)))"
  }
}

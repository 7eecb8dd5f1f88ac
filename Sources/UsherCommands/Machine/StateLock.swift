import Glibc

/// Lets only one run of `setup`, `restore` or `recover` at a time work on a state directory, by a
/// `flock` on the directory, which ends with the process.
///
/// For the system's daemon the directory of sealed credentials is locked, too, because the state
/// directory does not exist before the first start.
final class StateLock {
  private var files: [OpenFile] = []

  /// Acquires the lock.
  ///
  /// - Throws: ``CommandFailure`` if another command holds the lock; or if the state directory has
  ///   another owner, whose daemon could not use the files that this command creates.
  init(of instance: Instance, in environment: CommandEnvironment) throws {
    let state = instance.state(environment)
    if instance == .system {
      try Durable.makeDirectory(environment.directories.sealed)
      _ = try acquire(environment.directories.sealed)
    }
    guard let directory = try acquire(state), instance != .system else { return }
    let owner = try directory.status().st_uid
    guard owner == geteuid() else {
      throw CommandFailure(
        "\(state) is owned by uid \(owner); only that user may do this", status: .notPermitted)
    }
  }

  /// Locks a directory; returns nil if it does not exist.
  private func acquire(_ directory: String) throws -> OpenFile? {
    let descriptor = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard descriptor >= 0 else {
      if errno == ENOENT { return nil }
      throw Durable.systemFailure("\(directory) cannot be opened")
    }
    let file = OpenFile(path: directory, descriptor: descriptor)
    guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
      guard errno == EWOULDBLOCK else {
        throw Durable.systemFailure("\(directory) cannot be locked")
      }
      throw CommandFailure(
        "another usherctl setup, restore or recover is running on \(directory); wait until it ends",
        status: .tryAgain)
    }
    files.append(file)
    return file
  }

  func release() { files = [] }
}

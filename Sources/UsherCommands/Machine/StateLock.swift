import Glibc

/// Keeps `setup`, `restore` and `recover` of one state directory away from each other, from before
/// they look until they are done: a `flock` of the directory itself, which ends with its process.
///
/// The system's is also that of the sealed credentials: its state directory is made by the first
/// start.
final class StateLock {
  private var held: [OpenFile] = []

  /// - Throws: ``Failure`` where another one is under way, or the state is another user's: what a
  ///   daemon makes there would be ours, and the owner's could not use it.
  init(of instance: Instance, in environment: CommandEnvironment) throws {
    let state = instance.state(environment)
    if instance == .system {
      try Durable.makeDirectory(environment.places.sealed)
      _ = try take(environment.places.sealed)
    }
    guard let directory = try take(state), instance != .system else { return }
    var status = stat()
    guard fstat(directory.descriptor, &status) == 0 else {
      throw Durable.fault("\(state) cannot be looked at")
    }
    guard status.st_uid == geteuid() else {
      throw Failure(
        "\(state) belongs to uid \(status.st_uid), and only that user may do this",
        status: Failure.Status.notPermitted)
    }
  }

  /// Nil where there is no such directory.
  private func take(_ directory: String) throws -> OpenFile? {
    let descriptor = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard descriptor >= 0 else {
      if errno == ENOENT { return nil }
      throw Durable.fault("\(directory) cannot be opened")
    }
    let file = OpenFile(path: directory, descriptor: descriptor)
    guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
      guard errno == EWOULDBLOCK else { throw Durable.fault("\(directory) cannot be locked") }
      throw Failure(
        "another usherctl setup, restore or recover is under way on \(directory)",
        status: Failure.Status.tryAgain)
    }
    held.append(file)
    return file
  }

  func release() { held = [] }
}

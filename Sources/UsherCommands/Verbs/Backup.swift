import ArgumentParser
import Glibc
import UsherClient

struct BackupVerb: Verb {
  static let configuration = CommandConfiguration(
    commandName: "backup", abstract: "Save a consistent copy of the database.",
    discussion: """
      The copy is encrypted like the database: open it with the same master key or the recovery \
      key, using usherctl restore. The daemon keeps running. The copy does not contain the \
      configuration or the credentials that systemd keeps.
      """)

  /// The deadline of the call; the backup of a large database takes long.
  private static let limit = Duration.seconds(600)

  @OptionGroup var options: GlobalOptions

  @Flag(help: "Replace the file if it exists.")
  var force = false

  @Argument(help: "The file to write; - is standard output.")
  var file: String

  func run(at context: CommandContext) async throws {
    let target = file == "-" ? nil : try Target(file, force: force)
    defer { target?.discard() }
    if target == nil, isatty(context.environment.output) == 1 {
      throw CommandFailure("a backup cannot be written to a terminal; name a file")
    }
    let (reply, json) = try await context.admin.callWithJSON(
      SystemBackup(), deadline: Self.limit)
    let copy = try DaemonsCopy(reply)
    defer { copy.remove() }
    guard let target else {
      let output = OpenFile(path: "standard output", descriptor: dup(context.environment.output))
      return try copy.fetch(to: output)
    }
    try copy.fetch(to: target.draft)
    try target.commit()
    if context.printsJSON { return context.console.json(json) }
    context.console.printMessage("\(file): \(reply.bytes / 1024) KiB")
  }
}

/// The file to which the backup is written. Until the backup is complete, an existing file stays as
/// it is.
private struct Target {
  let draft: OpenFile
  private let path: String
  private let isReplaced: Bool

  /// Creates the target.
  ///
  /// - Throws: ``CommandFailure`` if the file cannot be written, or exists and may not be replaced.
  init(_ path: String, force: Bool) throws {
    if let status = try Durable.status(path) {
      guard force else {
        throw CommandFailure("\(path) already exists", hints: ["to replace it, add --force"])
      }
      guard status.st_mode & S_IFMT == S_IFREG else {
        throw CommandFailure("\(path) is not a regular file")
      }
    }
    self.path = path
    isReplaced = force
    draft = try Durable.draft(nextTo: path)
  }

  func commit() throws {
    try draft.sync()
    if isReplaced { return try Durable.rename(draft.path, path) }
    guard link(draft.path, path) == 0 else {
      throw Durable.systemFailure("\(path) cannot be created")
    }
    try Durable.remove(draft.path)
  }

  func discard() { unlink(draft.path) }
}

/// The copy of the database that the daemon has made, from which the backup is written.
private struct DaemonsCopy {
  private let file: OpenFile
  private let size: Int64

  /// Opens the copy.
  ///
  /// - Throws: ``CommandFailure`` if the file cannot be a copy that the daemon made. The file is
  ///   then neither read nor removed.
  init(_ reply: SystemBackup.Reply) throws {
    let path = reply.path
    guard let (file, status) = try Durable.openFile(path), let slash = path.lastIndex(of: "/")
    else {
      throw CommandFailure(
        "the daemon's copy \(path) does not exist", status: .tryAgain)
    }
    let owner = try Durable.owner(of: String(path[..<slash]))
    guard path[slash...].contains(".backup-"), status.st_uid == owner.user, status.st_nlink == 1,
      status.st_mode & 0o077 == 0
    else { throw CommandFailure("\(path) is not a copy made by the daemon") }
    try DatabaseFiles.check(file, status)
    self.file = file
    size = Int64(reply.bytes)
  }

  func fetch(to target: OpenFile) throws {
    guard try file.copy(to: target) == size else {
      throw CommandFailure("\(file.path) is truncated")
    }
  }

  func remove() { unlink(file.path) }
}

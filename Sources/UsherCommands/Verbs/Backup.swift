import ArgumentParser
import Glibc
import UsherAPI
import UsherClient
import UsherCore

struct BackupVerb: Verb {
  static let configuration = CommandConfiguration(
    commandName: "backup", abstract: "Fetch a whole copy of the database, as of one moment.",
    discussion: """
      It is sealed as the database is: it opens by the same master key, or by the recovery key, and \
      is put back by usherctl restore. The daemon goes on meanwhile. The configuration and the \
      credentials that systemd keeps are not in it.
      """)

  /// Upper bound for the daemon's reply; a large database takes long.
  private static let limit = Duration.seconds(600)

  @OptionGroup var options: GlobalOptions

  @Flag(help: "Replace the file where it is there.")
  var force = false

  @Argument(help: "Where to; - is standard output.")
  var file: String

  func run(at context: CommandContext) async throws {
    let target = file == "-" ? nil : try Target(file, force: force)
    defer { target?.drop() }
    if target == nil, isatty(context.environment.output) == 1 {
      throw Failure("a database is nothing for a terminal: name a file")
    }
    let (reply, json) = try await context.admin.answer(
      to: SystemBackup(), deadline: Self.limit)
    let copy = try DaemonsCopy(reply)
    defer { copy.remove() }
    guard let target else {
      let output = OpenFile(path: "standard output", descriptor: dup(context.environment.output))
      return try copy.fetch(to: output)
    }
    try copy.fetch(to: target.draft)
    try target.keep()
    if context.printsJSON { return context.console.json(json) }
    context.console.note("\(file): \(reply.bytes / 1024) KiB")
  }
}

/// The file to write. Until the backup is complete, an existing file stays as it is.
private struct Target {
  let draft: OpenFile
  private let path: String
  private let isReplaced: Bool

  /// - Throws: ``Failure`` if the file cannot be written, or exists and may not be replaced.
  init(_ path: String, force: Bool) throws {
    if let status = try Durable.status(path) {
      guard force else { throw Failure("\(path) is there already", hints: ["or --force"]) }
      guard status.st_mode & S_IFMT == S_IFREG else {
        throw Failure("\(path) is not a regular file")
      }
    }
    self.path = path
    isReplaced = force
    draft = try Durable.draft(beside: path)
  }

  func keep() throws {
    try draft.sync()
    if isReplaced { return try Durable.rename(draft.path, path) }
    guard link(draft.path, path) == 0 else { throw Durable.fault("\(path) cannot be created") }
    try Durable.remove(draft.path)
  }

  func drop() { unlink(draft.path) }
}

/// The copy of the database that the daemon made.
private struct DaemonsCopy {
  private let file: OpenFile
  private let size: Int64

  /// - Throws: ``Failure`` if the file cannot be a copy that the daemon made. It is then neither
  ///   read nor removed.
  init(_ reply: SystemBackup.Reply) throws {
    let path = reply.path
    guard let (file, status) = try Durable.opened(path), let slash = path.lastIndex(of: "/") else {
      throw Failure("the daemon's copy \(path) is not there", status: Failure.Status.tryAgain)
    }
    let owner = try Durable.owner(of: String(path[..<slash]))
    guard path[slash...].contains(".backup-"), status.st_uid == owner.user, status.st_nlink == 1,
      status.st_mode & 0o077 == 0
    else { throw Failure("\(path) is not the daemon's own") }
    try DatabaseFiles.check(file, status)
    self.file = file
    size = Int64(reply.bytes)
  }

  func fetch(to target: OpenFile) throws {
    guard try file.copy(to: target) == size else { throw Failure("\(file.path) is cut short") }
  }

  func remove() { unlink(file.path) }
}

import ArgumentParser
import UsherAPI
import UsherClient
import UsherCore

struct RestoreVerb: Verb {
  static let configuration = CommandConfiguration(
    commandName: "restore", abstract: "Put a backup in the place of the database.",
    discussion: """
      The daemon is stopped, the database there is put aside (usherd.db.before-restore), and the \
      daemon is started on the backup. Where that does not open it, the old one is put back. Killed, \
      it is run again.

      A backup of another host, or of another master key, needs --recovery-key. The recovery key is \
      asked for: on a terminal it is not shown, otherwise it is a line of standard input. A daemon \
      that is run by hand has to be stopped first.
      """)

  @OptionGroup var options: GlobalOptions
  @OptionGroup var chosen: InstanceOptions

  @Flag(help: "Ask for the recovery key, by which the backup opens.")
  var recoveryKey = false

  @Argument(help: "What usherctl backup has written, or restore has put aside.")
  var file: String

  func run(at context: CommandContext) async throws {
    let instance = try chosen.instance(context)
    let lock = try StateLock(of: instance, in: context.environment)
    defer { lock.release() }
    let opening = Opening(context: context, instance: instance)
    try opening.sweep()
    let files = DatabaseFiles(path: try instance.database(context.environment))
    let key = recoveryKey ? try await context.console.readRecoveryKey() : nil
    guard try Durable.status(files.directory) != nil else {
      throw Failure(
        "there is no \(files.directory)",
        hints: instance == .system ? ["systemctl start \(Units.service) makes it"] : [])
    }
    // The backup is checked before the daemon is stopped, so most errors are found early.
    try files.take(file)
    let aside: String?
    do {
      try await opening.stop()
      if instance == .system, key != nil {
        _ = try await MasterKeyPlace(context: context)
          .seal(.putAside, database: files.path, isRecovered: true)
      }
      aside = try files.exchange()
    } catch {
      files.drop()
      await opening.goOn()
      throw error
    }
    do {
      try await opening.open(key.map { .recoveryKey($0) })
    } catch {
      try await putBack(aside, files, opening, because: error)
    }
    if let aside { context.console.note("the database before is \(aside)") }
    context.console.note("the backup is the database now")
    if instance == .system, key != nil { try await MasterKeyPlace(context: context).removeFile() }
  }

  private func putBack(
    _ aside: String?, _ files: DatabaseFiles, _ opening: Opening, because error: any Error
  ) async throws -> Never {
    // Run even if the command is cancelled.
    let putBack = Task {
      try await opening.stop()
      try files.putBack(aside)
      await opening.goOn()
    }
    do {
      try await putBack.value
    } catch {
      throw Failure(
        "the backup does not open, and the database cannot be put back",
        hints: (Failure(error)?.lines ?? []) + (aside.map { ["it is \($0)"] } ?? []))
    }
    guard var failure = Failure(error), !(error is CancellationError) else { throw error }
    failure.lines.append(
      aside == nil ? "there is no database, as before" : "the database is as it was")
    if !recoveryKey {
      failure.lines.append("a backup of another host or master key needs --recovery-key")
    }
    throw failure
  }
}

import ArgumentParser
import UsherClient

struct RestoreVerb: Verb {
  static let configuration = CommandConfiguration(
    commandName: "restore", abstract: "Replace the database with a backup.",
    discussion: """
      Stops the daemon, renames the present database (usherd.db.before-restore), and starts the \
      daemon with the backup. If the daemon cannot open the backup, puts the old database back. If \
      this command is killed, run it again.

      A backup from another host, or under another master key, needs --recovery-key. On a \
      terminal, asks for the key and does not show it; otherwise reads it as one line from \
      standard input. Stop a daemon that systemd does not manage first.
      """)

  @OptionGroup var options: GlobalOptions
  @OptionGroup var chosen: InstanceOptions

  @Flag(help: "Ask for the recovery key and open the backup with it.")
  var recoveryKey = false

  @Argument(help: "A file that usherctl backup wrote or restore put aside.")
  var file: String

  func run(at context: CommandContext) async throws {
    let instance = try chosen.instance(context)
    let lock = try StateLock(of: instance, in: context.environment)
    defer { lock.release() }
    let opener = DatabaseOpener(context: context, instance: instance)
    try opener.removeLeftoverCredentials()
    let files = DatabaseFiles(path: try instance.database(context.environment))
    let key = recoveryKey ? try await context.console.readRecoveryKey() : nil
    guard try Durable.status(files.directory) != nil else {
      throw CommandFailure(
        "\(files.directory) does not exist",
        hints: instance == .system ? ["to create it, run: systemctl start \(Units.service)"] : [])
    }
    // The backup is checked before the daemon is stopped, so most errors are found early.
    try files.copyBackup(file)
    let movedPath: String?
    do {
      try await opener.stop()
      if instance == .system, key != nil {
        _ = try await MasterKeyMigration(context: context)
          .seal(.moveAside, database: files.path, isRecovered: true)
      }
      movedPath = try files.replaceDatabase()
    } catch {
      files.discardCopy()
      await opener.resumeService()
      throw error
    }
    do {
      try await opener.open(key.map { .recoveryKey($0) })
    } catch {
      try await restorePrevious(movedPath, files, opener, causedBy: error)
    }
    if let movedPath { context.console.printMessage("the previous database is \(movedPath)") }
    context.console.printMessage("the backup is restored")
    if instance == .system, key != nil {
      try await MasterKeyMigration(context: context).removeFile()
    }
  }

  private func restorePrevious(
    _ movedPath: String?, _ files: DatabaseFiles, _ opener: DatabaseOpener,
    causedBy error: any Error
  ) async throws -> Never {
    // The unstructured task completes even if the command is cancelled.
    let restorePrevious = Task {
      try await opener.stop()
      try files.restorePrevious(movedPath)
      await opener.resumeService()
    }
    do {
      try await restorePrevious.value
    } catch {
      throw CommandFailure(
        "the backup cannot be opened, and the database cannot be put back",
        hints: (CommandFailure(error)?.lines ?? [])
          + (movedPath.map { ["the database is in \($0)"] } ?? []))
    }
    guard var failure = CommandFailure(error), !(error is CancellationError) else { throw error }
    failure.lines.append(
      movedPath == nil ? "there is still no database" : "the previous database is back in place")
    if !recoveryKey {
      failure.lines.append("a backup from another host or with another key needs --recovery-key")
    }
    throw failure
  }
}

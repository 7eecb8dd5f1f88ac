import ArgumentParser
import UsherClient

struct SetupVerb: Verb {
  static let configuration = CommandConfiguration(
    commandName: "setup", abstract: "Seal the master key and create a recovery key.",
    discussion: """
      As root, for the system's daemon: stores the master key as the systemd credential \
      usherd.master-key, which only this host can open, and removes the key file. Then, and for \
      any other daemon, creates a recovery key and prints it only once: write it down.

      If both keys exist, reports them and changes nothing. If this command is killed, run it again.
      """)

  @OptionGroup var options: GlobalOptions
  @OptionGroup var chosen: InstanceOptions

  @Flag(help: "Replace the recovery key, for example if it was lost.")
  var newRecoveryKey = false

  func run(at context: CommandContext) async throws {
    let instance = try chosen.instance(context)
    let lock = try StateLock(of: instance, in: context.environment)
    defer { lock.release() }
    try DatabaseOpener(context: context, instance: instance).removeLeftoverCredentials()
    guard instance == .system else {
      let status = try await context.admin.call(SystemStatus())
      guard status.locked != true else {
        throw CommandFailure("usherd is locked", status: .tryAgain)
      }
      return try await finish(status, at: context)
    }
    let migration = MasterKeyMigration(context: context)
    let isNew = try await migration.seal(
      .refuse, database: try instance.database(context.environment))
    let status = try await migration.activate(isNew: isNew)
    if !isNew { context.console.printMessage("the master key is sealed already") }
    try await finish(status, at: context) { try await migration.removeFile() }
  }

  /// Creates the recovery key if there is none, and prints it.
  ///
  /// - Parameter last: The step that removes the key file. It runs after the recovery key is
  ///   printed, so that a failure before that removes nothing.
  private func finish(
    _ status: SystemStatus.Reply, at context: CommandContext, _ last: () async throws -> Void = {}
  ) async throws {
    let key = try await recoveryKey(status, at: context)
    if context.printsJSON {
      try context.console.json(of: Done(masterKey: status.masterKey, recoveryKey: key))
    } else if let key {
      context.console.printMessage("the recovery key, shown only once; write it down:")
      context.console.reveal(key.secret)
    } else {
      context.console.printMessage(
        "a recovery key exists; if it was lost, run: usherctl setup --new-recovery-key")
    }
    try await last()
  }

  private struct Done: Encodable {
    var masterKey: String?
    var recoveryKey: WireSecret?
  }

  /// Makes a recovery key, for the person to write down; returns nil if an existing one stays
  /// valid.
  private func recoveryKey(
    _ status: SystemStatus.Reply, at context: CommandContext
  ) async throws -> WireSecret? {
    guard newRecoveryKey || status.hasRecoveryKey != true else { return nil }
    let reply = try await context.admin.call(
      KeyCreateRecovery(replace: newRecoveryKey ? true : nil))
    return reply.recoveryKey
  }
}

import ArgumentParser
import UsherClient

struct RecoverVerb: Verb {
  static let configuration = CommandConfiguration(
    commandName: "recover",
    abstract: "Open a database with its recovery key, or after it was changed.",
    discussion: """
      Use this if the master key is lost or cannot be opened on this host any more: the daemon \
      opens the database with the recovery key, and encrypts it for its present master key or a \
      new one. Nothing else changes, and the recovery key stays valid.

      On a terminal, asks for the recovery key and does not show it; otherwise reads it as one \
      line from standard input. Stop a daemon that systemd does not manage first.

      With --accept-changes, no key is needed: the daemon uses its master key to open a database \
      in which something other than usherd deleted rows or put older ones back, and locks itself. \
      If you have a backup, restore it instead.
      """)

  @OptionGroup var options: GlobalOptions
  @OptionGroup var chosen: InstanceOptions

  @Flag(help: "Accept a database that something other than usherd changed.")
  var acceptChanges = false

  func run(at context: CommandContext) async throws {
    let instance = try chosen.instance(context)
    let lock = try StateLock(of: instance, in: context.environment)
    defer { lock.release() }
    let opener = DatabaseOpener(context: context, instance: instance)
    try opener.removeLeftoverCredentials()
    let database = try instance.database(context.environment)
    guard try Durable.status(database) != nil else {
      throw CommandFailure(
        "\(database) does not exist", hints: ["to restore a backup, run: usherctl restore"])
    }
    if instance == .system, try await Units(environment: context.environment).isActive {
      return context.console.printMessage("usherd is running: its master key opens the database")
    }
    let key = acceptChanges ? nil : try await context.console.readRecoveryKey()
    let credential: DatabaseOpener.StartupCredential = key.map { .recoveryKey($0) } ?? .acceptance
    try await opener.stop()
    let migration = MasterKeyMigration(context: context)
    do {
      if instance != .system {
        try DatabaseLock(of: database).release()
      } else if key != nil {
        _ = try await migration.seal(.moveAside, database: database, isRecovered: true)
      }
      try await opener.open(credential)
    } catch {
      await opener.startSockets()
      throw error
    }
    guard key != nil else {
      return context.console.printMessage(
        "the database is accepted as it is, and usherd is locked; run: usherctl unlock --admin")
    }
    context.console.printMessage("the master key opens the database again")
    if instance == .system { try await migration.removeFile() }
  }
}

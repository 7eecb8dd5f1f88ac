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
      throw CommandFailure("\(database) does not exist")
    }
    if instance == .system, try await Units(environment: context.environment).isActive {
      return context.console.printMessage("usherd is running: its master key opens the database")
    }
    guard !acceptChanges else { return try await accept(opener, instance, database, context) }
    let key = try await context.console.readRecoveryKey()
    try await opener.stop()
    guard instance == .system else {
      try DatabaseLock(of: database).release()
      try await opener.open(.recoveryKey(key))
      return context.console.printMessage("the master key opens the database again")
    }
    let migration = MasterKeyMigration(context: context)
    do {
      _ = try await migration.seal(.putAside, database: database, isRecovered: true)
      try await opener.open(.recoveryKey(key))
    } catch {
      await opener.startSockets()
      throw error
    }
    context.console.printMessage("the master key opens the database again")
    try await migration.removeFile()
  }

  private func accept(
    _ opener: DatabaseOpener, _ instance: Instance, _ database: String, _ context: CommandContext
  ) async throws {
    try await opener.stop()
    if instance != .system { try DatabaseLock(of: database).release() }
    do {
      try await opener.open(.acceptance)
    } catch {
      await opener.startSockets()
      throw error
    }
    context.console.printMessage(
      "the database is accepted as it is, and usherd is locked; run: usherctl unlock --admin")
  }
}

import ArgumentParser
import UsherAPI
import UsherClient
import UsherCore

struct RecoverVerb: Verb {
  static let configuration = CommandConfiguration(
    commandName: "recover",
    abstract: "Open a database by its recovery key, or one that was changed.",
    discussion: """
      For a master key that is gone, or that this host does not open any more: the daemon opens the \
      database by the recovery key, and puts it under its present master key, or a new one. \
      Nothing else changes, and the recovery key stays.

      The recovery key is asked for: on a terminal it is not shown, otherwise it is a line of \
      standard input. A daemon that is run by hand has to be stopped first.

      With --accept-changes no key is asked for: the daemon opens, by its master key, a database in \
      which something other than usherd deleted rows or put older ones back. It is locked then. \
      Where there is a backup, restore that instead.
      """)

  @OptionGroup var options: GlobalOptions
  @OptionGroup var chosen: InstanceOptions

  @Flag(help: "Accept the database although something other than usherd changed its tables.")
  var acceptChanges = false

  func run(at context: CommandContext) async throws {
    let instance = try chosen.instance(context)
    let lock = try StateLock(of: instance, in: context.environment)
    defer { lock.release() }
    let opening = Opening(context: context, instance: instance)
    try opening.sweep()
    let database = try instance.database(context.environment)
    guard try Durable.status(database) != nil else { throw Failure("there is no \(database)") }
    if instance == .system, try await Units(environment: context.environment).isActive {
      return context.console.note("usherd runs: its master key opens the database")
    }
    guard !acceptChanges else { return try await accept(opening, instance, database, context) }
    let key = try await context.console.readRecoveryKey()
    try await opening.stop()
    guard instance == .system else {
      try DatabaseLock(of: database).release()
      try await opening.open(.recoveryKey(key))
      return context.console.note("the database opens by its master key again")
    }
    let place = MasterKeyPlace(context: context)
    do {
      _ = try await place.seal(.putAside, database: database, isRecovered: true)
      try await opening.open(.recoveryKey(key))
    } catch {
      await opening.listen()
      throw error
    }
    context.console.note("the database opens by its master key again")
    try await place.removeFile()
  }

  private func accept(
    _ opening: Opening, _ instance: Instance, _ database: String, _ context: CommandContext
  ) async throws {
    try await opening.stop()
    if instance != .system { try DatabaseLock(of: database).release() }
    do {
      try await opening.open(.acceptance)
    } catch {
      await opening.listen()
      throw error
    }
    context.console.note("the database is accepted as it is, and locked: usherctl unlock --admin")
  }
}

import ArgumentParser
import UsherAPI
import UsherClient
import UsherCore

struct RecoverVerb: Verb {
  static let configuration = CommandConfiguration(
    commandName: "recover", abstract: "Open the database by its recovery key.",
    discussion: """
      For a master key that is gone, or that this host does not open any more: the daemon opens the \
      database by the recovery key, and puts it under its present master key, or a new one. \
      Nothing else changes, and the recovery key stays.

      The recovery key is asked for: on a terminal it is not shown, otherwise it is a line of \
      standard input. A daemon that is run by hand has to be stopped first.
      """)

  @OptionGroup var options: GlobalOptions
  @OptionGroup var chosen: InstanceOptions

  func run(at desk: Desk) async throws {
    let instance = try chosen.instance(desk)
    let lock = try StateLock(of: instance, in: desk.world)
    defer { lock.release() }
    let opening = Opening(desk: desk, instance: instance)
    try opening.sweep()
    let database = try instance.database(desk.world)
    guard try Durable.status(database) != nil else { throw Failure("there is no \(database)") }
    if instance == .system, try await Units(world: desk.world).isActive {
      return desk.console.note("usherd runs: its master key opens the database")
    }
    let key = try await desk.console.readRecoveryKey()
    try await opening.stop()
    guard instance == .system else {
      try DatabaseLock(of: database).release()
      try await opening.open(key)
      return desk.console.note("the database opens by its master key again")
    }
    let place = MasterKeyPlace(desk: desk)
    do {
      _ = try await place.seal(.putAside, database: database, isRecovered: true)
      try await opening.open(key)
    } catch {
      await opening.listen()
      throw error
    }
    desk.console.note("the database opens by its master key again")
    try await place.removeFile()
  }
}

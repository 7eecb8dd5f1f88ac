import ArgumentParser
import UsherAPI
import UsherClient
import UsherCore

struct SetupVerb: Verb {
  static let configuration = CommandConfiguration(
    commandName: "setup", abstract: "Seal the master key, once, and make a recovery key.",
    discussion: """
      As root, for the system's daemon: its master key becomes the systemd credential \
      usherd.master-key, which only this host opens, and its key file is removed. Then, and for \
      any other daemon, a recovery key is made and printed, this once: write it down.

      Run again it says what is there and changes nothing. Killed, it is run again.
      """)

  @OptionGroup var options: GlobalOptions
  @OptionGroup var chosen: InstanceOptions

  @Flag(help: "Make another recovery key, as when the one there is was lost.")
  var newRecoveryKey = false

  func run(at context: CommandContext) async throws {
    let instance = try chosen.instance(context)
    let lock = try StateLock(of: instance, in: context.environment)
    defer { lock.release() }
    try Opening(context: context, instance: instance).sweep()
    guard instance == .system else {
      let status = try await context.admin.call(SystemStatus())
      guard status.locked != true else {
        throw Failure("usherd is locked", status: Failure.Status.tryAgain)
      }
      return try await finish(status, at: context)
    }
    let place = MasterKeyPlace(context: context)
    let isNew = try await place.seal(.refuse, database: try instance.database(context.environment))
    let status = try await place.use(isNew: isNew)
    if !isNew { context.console.note("the master key is sealed already") }
    try await finish(status, at: context) { try await place.removeFile() }
  }

  /// - Parameter last: Runs after the recovery key is printed, so that a failure before that
  ///   removes nothing.
  private func finish(
    _ status: SystemStatus.Reply, at context: CommandContext, _ last: () async throws -> Void = {}
  ) async throws {
    let key = try await recoveryKey(status, at: context)
    if context.printsJSON {
      try context.console.json(of: Done(masterKey: status.masterKey, recoveryKey: key))
    } else if let key {
      context.console.note("the recovery key, which is shown this once; write it down:")
      context.console.reveal(key.secret)
    } else {
      context.console.note(
        "there is a recovery key; if it was lost: usherctl setup --new-recovery-key")
    }
    try await last()
  }

  private struct Done: Encodable {
    var masterKey: String?
    var recoveryKey: WireSecret?
  }

  /// Makes a recovery key; returns nil if there is one that is kept.
  private func recoveryKey(
    _ status: SystemStatus.Reply, at context: CommandContext
  ) async throws -> WireSecret? {
    guard newRecoveryKey || status.hasRecoveryKey != true else { return nil }
    let reply = try await context.admin.call(
      KeyCreateRecovery(replace: newRecoveryKey ? true : nil))
    return reply.recoveryKey
  }
}

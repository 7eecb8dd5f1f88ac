import ArgumentParser
import UsherClient
import UsherConfig

/// Which daemon's state it is about.
enum Instance: Equatable {
  /// The system's, under systemd: root's business.
  case system
  /// The user's own.
  case user
  /// One that is run by hand, with its state in a directory.
  case byHand(state: String)

  func state(_ environment: CommandEnvironment) -> String {
    switch self {
    case .system: environment.places.state
    case .user: environment.places.userState
    case .byHand(let state): state
    }
  }

  /// Where its database is.
  ///
  /// - Throws: What is wrong with the configuration, which says so for the system's daemon; for the
  ///   others it is looked for under its usual name.
  func database(_ environment: CommandEnvironment) throws -> String {
    let state = state(environment)
    let config = try self == .system ? ConfigFiles.parse([]).load(in: environment).config : Config()
    switch config.store.url {
    case .sqlite(let path): return path.hasPrefix("/") ? path : "\(state)/\(path)"
    }
  }
}

/// The option by which a verb is told which daemon is meant.
struct InstanceOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "Of a daemon that is run by hand; default: root's is the system's, another user's his own.",
      valueName: "directory"))
  var state: String?

  /// - Throws: ``Failure`` for the system's daemon where the person is not root.
  func instance(_ context: CommandContext) throws -> Instance {
    if let state {
      let isEnded = state.count > 1 && state.hasSuffix("/")
      return .byHand(state: isEnded ? String(state.dropLast()) : state)
    }
    if context.environment.userID == 0 { return .system }
    guard !context.admin.socketPath.hasPrefix("/run/usherd/") else {
      throw Failure(
        "only root may do that to the system's usherd", status: Failure.Status.notPermitted)
    }
    return .user
  }
}

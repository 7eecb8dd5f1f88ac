import UsherClient

/// The environment, console and daemon clients that a usherctl command runs with.
struct CommandContext: Sendable {
  let environment: CommandEnvironment
  let console: Console
  /// Whether replies are printed as JSON, for programs to read.
  let printsJSON: Bool
  let app: UsherClient
  let admin: UsherClient

  init(environment: CommandEnvironment, options: GlobalOptions) {
    self.environment = environment
    console = Console(environment.terminal)
    printsJSON = options.json
    app = Self.client(options.socket, .app, environment)
    admin = Self.client(options.adminSocket, .admin, environment)
  }

  private static func client(_ path: String?, _ access: Access, _ environment: CommandEnvironment)
    -> UsherClient
  {
    let standard = SocketPath.standard(
      access, environment: environment.variables, userID: environment.userID, exists: Files.exist)
    return UsherClient(socketPath: path ?? standard, name: "usherctl", version: Usherctl.version)
  }

  /// Makes a call to the daemon and prints its reply: as JSON with `--json`, otherwise with `show`.
  ///
  /// - Parameter chosen: The client for the call. Default: the admin client for methods of the
  ///   admin socket, otherwise the app client.
  /// - Returns: The reply.
  @discardableResult
  func show<M: Method>(
    _ method: M, on chosen: UsherClient? = nil, deadline: Duration? = nil,
    _ show: (M.Reply) throws -> Void
  ) async throws -> M.Reply {
    let client = chosen ?? (M.access == .admin ? admin : app)
    let (reply, json) = try await client.callWithJSON(method, deadline: deadline)
    if printsJSON { console.json(json) } else { try show(reply) }
    return reply
  }

  /// Prints a value that usherctl computed: as JSON with `--json`, otherwise with `show`.
  func show<Value: Encodable>(value: Value, _ show: (Value) -> Void) throws {
    if printsJSON { try console.json(of: value) } else { show(value) }
  }
}

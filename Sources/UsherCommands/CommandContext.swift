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

  /// Makes a call and prints its reply: as JSON with `--json`, otherwise with `show`.
  ///
  /// - Parameter chosen: The client for the call. Default: the admin client for methods of the
  ///   admin socket, otherwise the app client.
  func show<M: Method>(
    _ method: M, on chosen: UsherClient? = nil, _ show: (M.Reply) -> Void
  ) async throws {
    let (reply, json) = try await client(for: M.self, chosen).callWithJSON(method)
    if printsJSON { console.json(json) } else { show(reply) }
  }

  private func client<M: Method>(for method: M.Type, _ chosen: UsherClient?) -> UsherClient {
    chosen ?? (M.access == .admin ? admin : app)
  }
}

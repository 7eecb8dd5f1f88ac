import JSONRPC
import UsherAPI
import UsherClient
import UsherCore

/// What a verb works with.
struct CommandContext: Sendable {
  let environment: CommandEnvironment
  let console: Console
  /// Whether programs read the output.
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

  /// Makes a call on the socket where it exists, and shows the reply: as JSON, or by `show`.
  func show<M: Method>(
    _ method: M, on chosen: UsherClient? = nil, _ show: (M.Reply) -> Void
  ) async throws {
    let (reply, json) = try await client(for: M.self, chosen).answer(to: method)
    if printsJSON { console.json(json) } else { show(reply) }
  }

  private func client<M: Method>(for method: M.Type, _ chosen: UsherClient?) -> UsherClient {
    chosen ?? (M.access == .admin ? admin : app)
  }
}

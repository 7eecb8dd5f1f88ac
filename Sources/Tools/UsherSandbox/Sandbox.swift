package import FoundationEssentials

/// Fake provider backends on loopback, for development and tests.
///
/// All state is in memory. Do not use real personal data with it.
package struct Sandbox: Sendable {
  package struct Configuration: Sendable {
    /// `127.0.0.1`, `::1`, `[::1]` or `localhost`; any other host is refused.
    package var host = "127.0.0.1"
    /// The TCP port; 0 picks a free port.
    package var port = 0
    /// The path of the OpenID issuer. Empty: the issuer is at the root of the server.
    package var issuerPath = "/oidc"
    package var population = Population()
    /// The time source to which ``SandboxClock`` adds its offset.
    package var now: @Sendable () -> Date = { Date() }
    package var tokenGenerator = TokenGenerator()
    /// The server that receives e-mails in addition to the outbox.
    package var mailServer: MailServer?

    package init() {}
  }

  /// The users and clients of the sandbox. Its JSON form is the content of a users file.
  package struct Population: Sendable, Codable {
    package var users: [User]
    package var clients: [Client]

    package init(users: [User] = Users.standard, clients: [Client] = Client.standard) {
      self.users = users
      self.clients = clients
    }

    /// Decodes a population; a missing list defaults to the standard one.
    package init(from decoder: any Decoder) throws {
      let container = try decoder.container(keyedBy: CodingKeys.self)
      users = try container.decodeIfPresent([User].self, forKey: .users) ?? Users.standard
      clients = try container.decodeIfPresent([Client].self, forKey: .clients) ?? Client.standard
    }

    /// Parses a users file; throws `DecodingError`.
    package init(parsing bytes: some Sequence<UInt8>) throws {
      self = try JSON(parsing: bytes).decoded(as: Population.self)
    }
  }

  /// An invalid configuration, with a description for the user.
  package struct ConfigurationError: Error, CustomStringConvertible {
    package let description: String
  }

  let host: String
  let port: Int
  let router: SandboxRouter
  let clock: SandboxClock
  let tls: TLSListener
  /// The endpoints of all providers, for programs that call them without a server.
  package let endpoints: [Endpoint]
  /// The control endpoints of all providers and of the outbox.
  package let controls: [Endpoint]

  package init(_ configuration: Configuration = Configuration()) throws {
    guard let host = Self.loopback[configuration.host] else {
      throw ConfigurationError(description: "the host must be 127.0.0.1 or ::1")
    }
    guard (0...65_535).contains(configuration.port) else {
      throw ConfigurationError(description: "the port must be 0 to 65535")
    }
    self.host = host
    port = configuration.port
    clock = SandboxClock(base: configuration.now)
    tls = try TLSListener()
    let context = BackendContext(
      users: Users(configuration.population.users), clock: clock,
      tokenGenerator: configuration.tokenGenerator,
      pages: try Pages.parsed.get(), mailServer: configuration.mailServer, tls: tls)
    let backends = Self.backends(context)
    let segments = backends.flatMap(\.endpoints).compactMap { $0.path.split(separator: "/").first }
    let taken = Set(segments).union(["_control", ".well-known", "outbox", "mcp", "mcp-metadata"])
    guard Self.isPath(configuration.issuerPath, outside: taken) else {
      throw ConfigurationError(
        description: "the issuer path must look like /oidc and not start with a reserved name: "
          + taken.sorted().joined(separator: ", "))
    }
    let issuer = try OIDCBackend(
      context, clients: configuration.population.clients, path: configuration.issuerPath)
    let all = [issuer] + backends
    endpoints = all.flatMap(\.endpoints)
    controls = OutboxPages(context: context).controls + all.flatMap(\.controls)
    router = SandboxRouter(context, all)
  }

  /// Returns all backends but the OpenID provider, whose path is configurable. Add a new backend
  /// here.
  private static func backends(_ context: BackendContext) -> [any Backend] {
    [
      PaysafeBackend(context),
      TruecallerBackend(context),
      GoPayBackend(context),
      FreedomIDBackend(context),
      BSABackend(context),
      GitHubBackend(context),
      AtlassianBackend(context),
      SlackBackend(context),
    ] + OIDCService.all.map { service -> any Backend in OIDCBackend(context, as: service) }
  }

  private static let loopback = [
    "127.0.0.1": "127.0.0.1", "localhost": "127.0.0.1", "::1": "::1", "[::1]": "::1",
  ]

  /// Whether the path is empty, or has segments of letters, digits, `-`, `_` and `.` of which the
  /// first is not one that another part of the sandbox uses.
  private static func isPath(_ path: String, outside taken: Set<Substring>) -> Bool {
    guard !path.isEmpty else { return true }
    let segments = path.split(separator: "/", omittingEmptySubsequences: false).dropFirst()
    return path.hasPrefix("/") && !segments.prefix(1).contains(where: taken.contains)
      && segments.allSatisfy { segment in
        segment.contains { $0 != "." }
          && segment.allSatisfy {
            $0.isASCII && ($0.isLetter || $0.isNumber || "-_.".contains($0))
          }
      }
  }
}

/// Runs a sandbox on a free port, calls `body`, and stops the sandbox when `body` returns.
///
/// - Parameter body: Receives the base URL, `http://127.0.0.1:PORT`.
package func withSandbox<Result: Sendable>(
  _ configuration: Sandbox.Configuration = Sandbox.Configuration(),
  _ body: @Sendable (String) async throws -> Result
) async throws -> Result {
  let sandbox = try Sandbox(configuration)
  let (addresses, announced) = AsyncStream.makeStream(of: String.self)
  return try await withThrowingTaskGroup(of: Void.self) { group in
    group.addTask {
      defer { announced.finish() }
      try await sandbox.run { announced.yield($0) }
    }
    for await base in addresses {
      let result = try await body(base)
      group.cancelAll()
      return result
    }
    try await group.waitForAll()
    throw Sandbox.ConfigurationError(description: "the sandbox stopped before it listened")
  }
}

import FoundationEssentials
import JSONRPC
import UsherCore
import UsherFlows
import UsherSandbox

/// The providers: the sandbox's endpoints, called without a server.
struct SandboxHost: Sendable {
  /// The address of the sandbox. Nothing listens there.
  static let base = "http://127.0.0.1:1"
  static let issuer = "\(base)/oidc"

  private let endpoints: [Endpoint]

  init(_ simulator: Simulator) throws {
    var configuration = Sandbox.Configuration()
    configuration.population = Sandbox.Population(
      users: SandboxAccount.all, clients: Client.standard + Workloads.clients)
    configuration.now = { Date(timeIntervalSince1970: Double(simulator.wall / 1_000_000) / 1000) }
    let entropy = SeededEntropy(RandomStream(seed: simulator.seed, for: "sandbox"))
    configuration.tokenGenerator = TokenGenerator { entropy.bytes($0) }
    let sandbox = try Sandbox(configuration)
    endpoints = sandbox.endpoints + sandbox.controls
  }

  /// Makes the settings that the workloads and the seed determine, and learns whose the ids of
  /// Freedom's people are.
  func configure(_ simulator: Simulator, _ provided: ProvidedValues) {
    var random = RandomStream(seed: simulator.seed, for: "provider settings")
    let seconds: JSONValue = ["accessTokenSeconds": .integer(random.pick([5, 20, 90, 300]))]
    Task(executorPreference: SimulatorExecutor(simulator)) {
      var settings = ["/_control/settings": seconds]
      for workload in Workloads.all {
        settings.merge(workload.sandboxSettings) { $0.adding($1.objectValue ?? [:]) }
      }
      for (path, body) in settings.sorted(by: { $0.key < $1.key }) {
        let reply = await control(path, body)
        if reply.status != 200 { simulator.fail("the sandbox refuses the settings of \(path)") }
      }
      let reply = await control("/_control/freedomid/people")
      let people = try? JSONValue(parsing: reply.body)["people"]?.arrayValue
      for person in people ?? [] {
        guard let id = person["id"]?.stringValue, let name = person["username"]?.stringValue
        else { continue }
        provided.record(id, owner: SandboxAccount.owner(name))
        provided.note(id, of: name)
      }
    }
  }

  /// Changes the nonce that proofs must have, again and again (RFC 9449 §8.2).
  ///
  /// - Parameter isOver: Returns whether the nonce stays as it is from now on.
  func changeNonces(_ simulator: Simulator, until isOver: @escaping () -> Bool) {
    let outside = SimulatorExecutor(simulator)
    var random = RandomStream(seed: simulator.seed, for: "nonces")
    var count = 0
    func change() {
      simulator.after(random.duration(.seconds(5) ... .seconds(300))) {
        guard !isOver() else { return }
        count += 1
        let nonce = "nonce-\(count)"
        Task(executorPreference: outside) {
          _ = await control("/_control/settings", ["dpopNonce": .string(nonce)])
        }
        change()
      }
    }
    change()
  }

  /// Calls the control API: with POST if there is a body, otherwise with GET.
  func control(_ path: String, _ body: JSONValue? = nil) async -> Reply {
    await handle(
      body == nil ? .get : .post, path, headers: ["content-type": "application/json"],
      body: body?.encoded() ?? [])
  }

  /// Calls the endpoint for a method and a URL below ``base``.
  func handle(
    _ method: Endpoint.Method, _ url: String, headers: [String: String] = [:], body: [UInt8] = []
  ) async -> Reply {
    let target = url.hasPrefix(Self.base) ? String(url.dropFirst(Self.base.count)) : url
    let parts = target.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
    let path = String(parts[0])
    for endpoint in endpoints where endpoint.method == method {
      guard let parameters = Self.parameters(of: path, in: endpoint.path) else { continue }
      var call = EndpointCall(method, path, base: Self.base)
      call.parameters = parameters
      call.query = parts.count > 1 ? String(parts[1]) : ""
      call.headers = headers
      call.body = body
      return await endpoint.handle(call)
    }
    return Reply(status: 404)
  }

  /// Returns the values of the `{name}` segments of a pattern; nil if the path does not match it.
  private static func parameters(of path: String, in pattern: String) -> [String: String]? {
    let (segments, expected) = (path.split(separator: "/"), pattern.split(separator: "/"))
    guard segments.count == expected.count else { return nil }
    var parameters: [String: String] = [:]
    for (segment, name) in zip(segments, expected) {
      if name.hasPrefix("{") {
        parameters[String(name.dropFirst().dropLast())] = String(segment)
      } else if segment != name {
        return nil
      }
    }
    return parameters
  }

  func submit(_ form: [(String, String)], to path: String) async -> Reply {
    let body = form.map { "\($0.0)=\($0.1.formEncoded)" }.joined(separator: "&")
    return await handle(
      .post, path, headers: ["content-type": "application/x-www-form-urlencoded"],
      body: Array(body.utf8))
  }
}

extension String {
  /// The text as the value of a form field: every byte but letters and digits is escaped.
  fileprivate var formEncoded: String {
    utf8.map { byte in
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"):
        String(UnicodeScalar(byte))
      default: "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)
      }
    }.joined()
  }
}

import JSONRPC
import Testing
import UsherAPI
import UsherConfig
import UsherCore
import UsherTestKit

@testable import UsherDaemon

@Suite("The method system.hostName of the page AddingAMethod", .timeLimit(.minutes(10)))
struct SystemHostNameTests {
  /// One daemon for all cases, because each daemon keeps a database and its descriptors open.
  private static let shared = Task { try await LockControllerHarness(holdsTimers: true).begun() }

  private func respond(
    _ params: JSONValue = [:], as caller: Caller? = nil, on host: String? = "till-7"
  ) async throws -> Response {
    try ExampleMethodTable.respond(
      params, as: try caller ?? Caller.program(), on: host, by: try await Self.shared.value)
  }

  @Test("system.hostName answers at once with the name of the host")
  func name() async throws {
    let reply = try #require(try await respond().atOnce)
    #expect(try JSONValue(parsing: reply) == ["hostName": "till-7"])
  }

  @Test("system.hostName is not found if the host has no name", arguments: [nil, ""])
  func nameless(hostName: String?) async throws {
    let error = await thrown { try await respond(on: hostName) }
    #expect(error?.reason == .notFound)
  }

  @Test("system.hostName refuses an unknown parameter, and a caller that no rule allows")
  func refused() async throws {
    let unknown = await thrown { try await respond(["stray": 1]) }
    #expect(unknown?.reason == .invalidParams && unknown?.detail.field == "stray")
    let stranger = Caller(
      owner: .bert,
      policy: try Policy.of([]).caller(CallerIdentity(uid: 1001, gid: 1001, groups: [])),
      isAdmin: false, label: "uid 1001")
    #expect(await thrown { try await respond(as: stranger) }?.reason == .permissionDenied)
  }

  @Test("the page AddingAMethod shows the examples, the OpenRPC entry and the reply of the method")
  func documented() async throws {
    let page = try DocumentedCode(
      page: "AddingAMethod", examples: "Tests/UsherDaemonTests/Examples")
    #expect(page.texts("swift").count >= 4 && page.texts("diff").count >= 3)
    #expect(page.mismatches() == [])
    let schema = StrictDecoding.documentedSchema(of: SystemHostName.Reply.self)
    #expect(schema.undescribed("system.hostName →") == [])
    let shown = try page.texts("json").map { try JSONValue(parsing: $0) }
    let document = OpenRPC.document(version: "0", methods: [SystemHostName.self], flows: [])
    try #require(shown.count == 2)
    #expect(shown[0] == document["methods"]?[0])
    let reply = try await respond().reply()
    #expect(shown[1]["result"] == (try JSONValue(parsing: reply)))
  }
}

import JSONRPC
import Testing
import UsherAPI
import UsherConfig
import UsherCore
import UsherTestKit

@testable import UsherDaemon

@Suite("The method system.hostName of the page AddingAMethod")
struct SystemHostNameTests {
  /// One daemon for all cases, because each daemon keeps a database and its descriptors open.
  private static let shared = Task { try await LockControllerHarness(holdsTimers: true).begun() }

  private func table(_ hostName: String? = "till-7") async throws -> ExampleMethodTable {
    let services = try await Self.shared.value.services()
    return ExampleMethodTable(services, hostNames: HostNameService { hostName })
  }

  private func error(_ table: ExampleMethodTable, _ params: JSONValue, as caller: Caller) throws
    -> UsherError?
  {
    do {
      _ = try table.respond(to: "system.hostName", params, as: caller)
      return nil
    } catch let error as UsherError {
      return error
    }
  }

  @Test("system.hostName answers at once with the name of the host")
  func name() async throws {
    let table = try await table()
    let response = try table.respond(to: "system.hostName", [:], as: .program())
    let reply = try #require(response.atOnce)
    #expect(try JSONValue(parsing: reply) == ["hostName": "till-7"])
  }

  @Test("system.hostName is not found if the host has no name", arguments: [nil, ""])
  func nameless(hostName: String?) async throws {
    let error = try error(await table(hostName), [:], as: .program())
    #expect(error?.reason == .notFound)
  }

  @Test("system.hostName refuses an unknown parameter, and a caller that no rule allows")
  func refused() async throws {
    let table = try await table()
    let unknown = try error(table, ["stray": 1], as: .program())
    #expect(unknown?.reason == .invalidParams && unknown?.detail.field == "stray")
    let stranger = Caller(
      owner: .bert,
      policy: try Policy.of([]).caller(CallerIdentity(uid: 1001, gid: 1001, groups: [])),
      isAdmin: false, label: "uid 1001")
    #expect(try error(table, [:], as: stranger)?.reason == .permissionDenied)
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
    let reply = try await table().respond(to: "system.hostName", [:], as: .program()).reply()
    #expect(shown[1]["result"] == (try JSONValue(parsing: reply)))
  }
}

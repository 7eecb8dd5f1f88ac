import JSONRPC
import Testing
import UsherTestKit

/// Freedom ID's browser modes with `usherctl`.
@Suite("Freedom ID in a browser, with usherctl", .mayBlock, .timeLimit(.minutes(10)))
struct PartnerCommandTests {
  /// Starts `usherctl login` and waits until it prints a page's URL.
  private func login(
    _ fixture: FreedomFixture, _ grants: String...
  ) throws -> (program: RunningProgram, page: String) {
    let program = try RunningProgram(
      BuiltProduct.path("usherctl"),
      ["login", "freedom", "--no-browser", "--socket", fixture.daemon.socketPath]
        + grants.flatMap { ["--grant", $0] }, log: fixture.daemon.place.file("login.log"))
    var page: String?
    try eventually("usherctl prints the page's URL") {
      page = program.log.firstMatch(of: /http:\S+/).map { String($0.0) }
      guard page != nil || program.isRunning else { throw TestError(program.log) }
      return page != nil
    }
    return (program, page ?? "")
  }

  @Test("usherctl login at Freedom ID in mode oauth2 prints the page's URL, then the profile")
  func partner() throws {
    let fixture = try FreedomFixture.partner()
    let (program, page) = try login(fixture, "read.firstname", "read.data_of_birth")
    _ = try Web.get(fixture.decide(at: page))
    #expect(try program.exitStatus() == 0, "\(program.log)")
    #expect(program.log.contains("Alice") && program.log.contains("1990-12-31"))
    let (status, output, errors) = try fixture.daemon.usherctl(["token", "get", "freedom"])
    #expect(status == 0, "\(errors)")
    #expect(output == "\(try fixture.token()["accessToken"]?.stringValue ?? "none")\n")
  }

  @Test("usherctl login at Freedom ID in mode oauth2 fails after a denial, and there is no token")
  func denied() throws {
    let fixture = try FreedomFixture.partner()
    let (program, page) = try login(fixture, "read.firstname")
    _ = try Web.get(fixture.decide(at: page, "alice", .deny))
    #expect(try program.exitStatus() != 0)
    #expect(program.log.contains("did not agree"), "\(program.log)")
    #expect(try fixture.daemon.usherctl(["token", "get", "freedom"]).status != 0)
  }

  @Test("usherctl login at Freedom ID in mode oidc prints the page's URL; token get then succeeds")
  func openID() throws {
    let fixture = try FreedomFixture.openID()
    let (program, page) = try login(fixture)
    _ = try Web.get(fixture.decide(at: page))
    #expect(try program.exitStatus() == 0, "\(program.log)")
    #expect(try fixture.daemon.usherctl(["token", "get", "freedom"]).status == 0)
  }
}

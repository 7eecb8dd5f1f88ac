import JSONRPC
import Testing
import UsherTestKit

/// The modes with a browser, with `usherctl`.
@Suite("Freedom ID in a browser, with usherctl", .mayBlock, .timeLimit(.minutes(10)))
struct PartnerCommandTests {
  /// Runs `usherctl login` until it shows a page.
  private func login(
    _ fixture: FreedomFixture, _ grants: String...
  ) throws -> (program: RunningProgram, page: String) {
    let program = try RunningProgram(
      BuiltProduct.path("usherctl"),
      ["login", "freedom", "--no-browser", "--socket", fixture.daemon.socketPath]
        + grants.flatMap { ["--grant", $0] }, log: fixture.daemon.place.file("login.log"))
    var page: String?
    try eventually("it shows a page") {
      page = program.log.firstMatch(of: /http:\S+/).map { String($0.0) }
      guard page != nil || program.isRunning else { throw TestError(program.log) }
      return page != nil
    }
    return (program, page ?? "")
  }

  @Test("oauth2: login --grant prints the page, waits for the person, and tells what was granted")
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

  @Test("oauth2: who says no, by the exit status too; there is no token")
  func denied() throws {
    let fixture = try FreedomFixture.partner()
    let (program, page) = try login(fixture, "read.firstname")
    _ = try Web.get(fixture.decide(at: page, "alice", .deny))
    #expect(try program.exitStatus() != 0)
    #expect(program.log.contains("did not agree"), "\(program.log)")
    #expect(try fixture.daemon.usherctl(["token", "get", "freedom"]).status != 0)
  }

  @Test("oidc: login prints the page, and then there is a token")
  func openID() throws {
    let fixture = try FreedomFixture.openID()
    let (program, page) = try login(fixture)
    _ = try Web.get(fixture.decide(at: page))
    #expect(try program.exitStatus() == 0, "\(program.log)")
    #expect(try fixture.daemon.usherctl(["token", "get", "freedom"]).status == 0)
  }
}

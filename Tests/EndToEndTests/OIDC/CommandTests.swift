import JSONRPC
import Testing
import UsherTestKit

@Suite("Sign-in with usherctl", .mayBlock, .timeLimit(.minutes(10)))
struct CommandTests {
  @Test(
    "usherctl login prints the page and waits for the sign-in; usherctl token get prints the token")
  func signIn() throws {
    let fixture = try OIDCFixture()
    let place = try TemporaryDirectory()
    let program = try RunningProgram(
      BuiltProduct.path("usherctl"),
      ["login", "demo", "--no-browser", "--socket", fixture.daemon.socketPath],
      log: place.file("log"))
    var page = ""
    try eventually("usherctl prints the page's URL: \(program.log)") {
      page = program.log.firstMatch(of: /http:\S+/).map { String($0.0) } ?? ""
      guard !page.isEmpty || program.isRunning else { throw TestError(program.log) }
      return !page.isEmpty
    }
    try Person.signIn(at: page)
    #expect(try program.exitStatus() == 0)
    #expect(program.log.contains("signed in"))
    let (status, output, errors) = try fixture.daemon.usherctl(["token", "get", "demo"])
    #expect(status == 0, "\(errors)")
    let token = try fixture.token()["accessToken"]?.stringValue ?? "none"
    #expect(output == token + "\n")
    #expect(try fixture.userinfo(.string(token)).status == 200)
  }
}

import JSONRPC
import Testing
import UsherTestKit

@Suite("Sign-in with usherctl", .mayBlock, .timeLimit(.minutes(10)))
struct CommandTests {
  @Test(
    "usherctl login prints the page and waits for the sign-in; usherctl token get prints the token")
  func signIn() throws {
    let fixture = try OIDCFixture()
    let program = try fixture.daemon.startUsherctl(["login", "demo", "--no-browser"])
    try Person.signIn(at: program.printed("the page's URL", /http:\S+/))
    #expect(try program.exitStatus() == 0)
    #expect(program.log.contains("signed in"))
    let (status, output, errors) = try fixture.daemon.usherctl(["token", "get", "demo"])
    #expect(status == 0, "\(errors)")
    let token = try fixture.token()["accessToken"]?.stringValue ?? "none"
    #expect(output == token + "\n")
    #expect(try fixture.userinfo(.string(token)).status == 200)
  }
}

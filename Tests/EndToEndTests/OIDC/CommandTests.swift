import JSONRPC
import Testing
import UsherTestKit

@Suite("signing in with usherctl", .mayBlock, .timeLimit(.minutes(10)))
struct CommandTests {
  let scene: Scene
  let place: Workplace

  init() throws {
    scene = try Scene()
    place = try Workplace()
  }

  /// Runs `usherctl login` until it shows a page.
  private func login() throws -> (program: RunningProgram, page: String) {
    let program = try RunningProgram(
      BuiltProduct.path("usherctl"),
      ["login", "demo", "--no-browser", "--socket", scene.daemon.socketPath],
      log: place.file("log"))
    var page: String?
    try eventually("it shows a page: \(program.log)") {
      page = program.log.firstMatch(of: /http:\S+/).map { String($0.0) }
      guard page != nil || program.isRunning else { throw TestTrouble(program.log) }
      return page != nil
    }
    return (program, page ?? "")
  }

  @Test("login prints the page, waits for the person, and then there is a token")
  func signIn() throws {
    let (program, page) = try login()
    try Person.signIn(at: page)
    #expect(try program.exitStatus() == 0)
    #expect(program.log.contains("signed in"))
    let (status, output, errors) = try scene.daemon.usherctl(["token", "get", "demo"])
    #expect(status == 0, "\(errors)")
    let token = try scene.token()["accessToken"]?.stringValue ?? "none"
    #expect(output == token + "\n")
    #expect(try scene.userinfo(.string(token)).status == 200)
  }

  @Test("login tells of a person who said no, by its exit status too")
  func denied() throws {
    let (program, page) = try login()
    try Person.signIn(at: page, allow: false)
    #expect(try program.exitStatus() != 0)
    #expect(!program.log.contains("signed in"))
    let (status, output, errors) = try scene.daemon.usherctl(["token", "get", "demo"])
    #expect(status != 0)
    #expect(output.isEmpty)
    #expect(errors.contains("usherctl login demo"))
  }
}

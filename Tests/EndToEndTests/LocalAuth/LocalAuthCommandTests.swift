import JSONRPC
import Testing
import UsherTestKit

@Suite("Local authentication with usherctl", .mayBlock, .timeLimit(.minutes(10)))
struct LocalAuthCommandTests {
  private func run(
    _ fixture: LocalAuthFixture, _ line: String, input: String = ""
  ) throws -> (status: Int32, output: String, errors: String) {
    try fixture.daemon.usherctl(line.split(separator: " ").map(String.init), input: input)
  }

  @Test("usherctl local shows and sets the passcode, and usherctl flow run authenticates with it")
  func passcode() throws {
    let fixture = try LocalAuthFixture(nil)
    let status = try run(fixture, "local status")
    #expect(status.output.contains("passcode     not set: usherctl local passcode\n"))
    let set = try run(fixture, "local passcode", input: "till-4711\n")
    #expect(set.errors == "the passcode is set\n" && set.status == 0)
    let change = try run(fixture, "local passcode", input: "wrong-one\ntill-4712\n")
    #expect(change.errors.contains("the old passcode is wrong; 4 attempts left"))
    #expect(change.status != 0)
    let flow = try run(
      fixture, "flow run local authenticate --param localAuthType=passcode --param reason=till",
      input: "nope\ntill-4711\n")
    #expect(flow.status == 0, "\(flow.errors)")
    #expect(flow.output.contains("method           passcode\n"), "\(flow.output)")
    #expect(flow.errors.contains("Wrong passcode: the passcode is wrong; 3 attempts left\n"))
    let reset = try run(fixture, "local passcode --uid 0", input: "given out\n")
    #expect(reset.errors == "the passcode is set\n")
  }
}

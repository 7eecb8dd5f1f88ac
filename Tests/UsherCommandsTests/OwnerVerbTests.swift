import JSONRPC
import Testing
import UsherCommands

@Suite("usherctl owner", .timeLimit(.minutes(10)))
struct OwnerVerbTests {
  @Test("usherctl owner list prints the recorded name and the current name of each uid")
  func list() async throws {
    let reply = """
      {"owners":[{"uid":1000,"user":"anna","recordedAt":"2030-01-01T00:00:00Z","state":"changed",\
      "now":"ben","changedAt":"2030-01-02T00:00:00Z"},{"uid":1001,"user":null,\
      "recordedAt":"2030-01-01T00:00:00Z","state":"same"}]}
      """
    let outcome = try await usherctl(
      "owner list", asking: [.ask("owner.list", reply)], sockets: ["USHER_ADMIN_SOCKET"])
    #expect(
      outcome.output == """
        UID   USER       SINCE                 STATE    NOW
        1000  anna       2030-01-01T00:00:00Z  changed  ben
        1001  (no name)  2030-01-01T00:00:00Z  same     -

        """)
  }

  @Test("usherctl owner accept prints the user that now owns the stored data")
  func accept() async throws {
    let outcome = try await usherctl(
      "owner accept 1000",
      asking: [.ask("owner.accept", ["uid": 1000], #"{"uid":1000,"user":"anna-b"}"#)],
      sockets: ["USHER_ADMIN_SOCKET"])
    #expect(
      outcome.error
        == "user anna-b now owns the data stored for uid 1000\n")
  }

  @Test("usherctl owner forget prints what was forgotten, and how many tokens were not revoked")
  func forget() async throws {
    let outcome = try await usherctl(
      "owner forget 1000",
      asking: [
        .ask(
          "owner.forget", ["uid": 1000],
          #"{"uid":1000,"accounts":2,"notRevoked":1,"flows":1}"#)
      ], sockets: ["USHER_ADMIN_SOCKET"])
    #expect(outcome.output == "forgot 2 accounts and 1 flow of uid 1000\n")
    #expect(
      outcome.error == "the tokens of 1 are not yet revoked and may stay valid until they expire\n")
  }

  @Test(
    "usherctl owner accept refuses an invalid uid", arguments: ["anna", "-1", "4294967296", ""])
  func notANumber(argument: String) async {
    #expect(await usherctl("owner accept \(argument)").status == 64)
  }
}

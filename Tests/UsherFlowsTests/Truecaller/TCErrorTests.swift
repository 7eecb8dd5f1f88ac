import FoundationEssentials
import JSONRPC
import Testing
import UsherAPI
import UsherConfig
import UsherCore
import UsherFlows

/// The SDK's errors 1 to 20, each with its cause in the daemon. For an error without a cause, the
/// documentation says why it cannot occur.
@Suite("Truecaller's TCErrors 1 to 20")
struct TCErrorTests {
  private func refused(_ stage: Phase, _ status: Int, _ code: Int64) throws -> ProviderErrorCode? {
    var driven = try stage.driven()
    driven.answered(["code": .integer(code), "message": "no"], status: status)
    return driven.failure?.provider
  }

  private func begun(
    _ number: String = "9876543210", _ params: (inout VerifyPhone.Params) -> Void = { _ in }
  ) throws -> ProviderErrorCode? {
    try DrivenVerification(number) { params(&$0) }.failure?.provider
  }

  private func brought(by answer: JSONValue, at stage: Phase) throws -> ProviderErrorCode? {
    var driven = try stage.driven()
    driven.answered(answer)
    return driven.failure?.provider
  }

  /// Returns the provider code of a flow that is driven to this error.
  private func word(_ error: Int) throws -> ProviderErrorCode? {
    switch error {
    case 1: return try begun { $0.appKey = WireSecret(Secret("other")) }
    case 2: return try begun { $0.appLink = "https://other.example.com" }
    case 3: return VerifyPhone.providerErrorCode(for: .cancelled, provider: phones)
    case 9:
      var driven = try DrivenVerification()
      driven.answered(.unreachable(message: "gone", sent: false))
      return driven.problem?.provider
    case 10: return try brought(by: [:], at: .create)
    case 11: return try refused(.profile, 401, 4011)
    case 12: return try refused(.create, 401, 4010)
    case 13:
      var driven = try Phase.profile.driven()
      driven.answered(.reply(reply(text: "<html>")))
      return driven.failure?.provider
    case 14: return try begun("987654321")
    case 15: return try brought(by: ["phoneNumber": "919876543211"], at: .profile)
    case 18:
      var driven = try DrivenVerification()
      driven.toCode()
      driven.receive(DrivenVerification.code(first: "77"))
      return driven.problem?.provider
    default: return nil
    }
  }

  /// Returns the explanations of the documentation's table by error number.
  private func rows() throws -> [Int: String] {
    let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent().deletingLastPathComponent()
    let path = root.appending(path: "Sources/UsherDaemon/Usher.docc/Providers/Truecaller.md").path
    let page = try String(contentsOfFile: path, encoding: .utf8)
    let table = page.split(separator: "\n## TCError\n").dropFirst().first?
      .split(separator: "\n## ").first
    let cells = (table ?? "").split(separator: "\n").map { $0.split(separator: "|") }
    let numbered = cells.compactMap { cells -> (Int, String)? in
      guard cells.count == 3, let number = Int(cells[0].filter { $0 != " " }) else { return nil }
      return (number, String(cells[2]))
    }
    return Dictionary(numbered) { first, _ in first }
  }

  @Test(
    "each TCError that the documentation says can occur is the code of a failed verifyPhone",
    arguments: 1...20)
  func table(error: Int) throws {
    let row = try #require(rows()[error])
    #expect(row.contains("cannot be met") == [4, 5, 6, 7, 8, 16, 19, 20].contains(error))
    #expect(row.contains("by UsherKit") == (error == 17))
    let isSaidToBe = !row.contains("cannot be met") && !row.contains("by UsherKit")
    let word = try word(error)
    #expect((word != nil) == isSaidToBe, "\(row)")
    #expect(word == nil || word?.code == String(error))
    #expect(word == nil || word?.name == phones)
  }
}

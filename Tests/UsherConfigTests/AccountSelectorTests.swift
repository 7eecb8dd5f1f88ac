import Testing
import UsherConfig

@Suite("A rule's account")
struct AccountSelectorTests {
  @Test("is compared byte by byte: a look-alike of the subject is another person")
  func lookAlike() throws {
    let selector = try AccountSelector(setting: "subject:K")
    #expect(selector.selects(.init(id: "acc_1", subject: "K")))
    #expect(!selector.selects(.init(id: "acc_1", subject: "\u{212A}")))
    let composed = try AccountSelector(setting: "subject:Zo\u{EB}")
    #expect(!composed.selects(.init(id: "acc_1", subject: "Zoe\u{308}")))
  }
}

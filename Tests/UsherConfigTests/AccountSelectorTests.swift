import Testing
import UsherConfig

@Suite("Accounts of a rule")
struct AccountSelectorTests {
  @Test("a rule's account subject is compared byte by byte: a Unicode look-alike does not match")
  func lookAlike() throws {
    let selector = try AccountSelector(setting: "subject:K")
    #expect(selector.selects(.init(id: "acc_1", subject: "K")))
    #expect(!selector.selects(.init(id: "acc_1", subject: "\u{212A}")))
    let composed = try AccountSelector(setting: "subject:Zo\u{EB}")
    #expect(!composed.selects(.init(id: "acc_1", subject: "Zoe\u{308}")))
  }
}

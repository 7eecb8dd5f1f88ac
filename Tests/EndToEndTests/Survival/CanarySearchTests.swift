import Foundation
import Testing
import UsherTestKit

@Suite("Search for secrets in bytes")
struct CanarySearchTests {
  @Test(
    "the secret search finds a one-time code that has no ASCII letter or digit beside it",
    arguments: [
      #"{"code":"007620"}"#, "007620", "the code is 007620.", "otp=007620&next", "é007620",
      "1007620 and 007620", "MDA3NjIw",
    ])
  func code(text: String) {
    #expect(CanarySearch.occurs("007620", in: Data(text.utf8)))
  }

  @Test(
    "the secret search ignores the digits of a one-time code in a longer number or identifier",
    arguments: ["1795007620", "0076201", "flw_007620a", "a007620", "00762", ""])
  func chance(text: String) {
    #expect(!CanarySearch.occurs("007620", in: Data(text.utf8)))
  }

  @Test("the secret search finds any other secret inside a longer text")
  func secret() {
    #expect(CanarySearch.occurs("9876543210", in: Data("+919876543210".utf8)))
    #expect(CanarySearch.occurs("alice-01", in: Data("xalice-01x".utf8)))
  }
}

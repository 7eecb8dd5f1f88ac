import Foundation
import Testing
import UsherTestKit

@Suite("The search for secrets")
struct CanarySearchTests {
  @Test(
    "finds a one-time code that stands by itself",
    arguments: [
      #"{"code":"007620"}"#, "007620", "the code is 007620.", "otp=007620&next", "é007620",
      "1007620 and 007620", "MDA3NjIw",
    ])
  func code(text: String) {
    #expect(CanarySearch.occurs("007620", in: Data(text.utf8)))
  }

  @Test(
    "does not take a part of a longer number or identifier for a one-time code",
    arguments: ["1795007620", "0076201", "flw_007620a", "a007620", "00762", ""])
  func chance(text: String) {
    #expect(!CanarySearch.occurs("007620", in: Data(text.utf8)))
  }

  @Test("finds any other secret inside of a longer text")
  func secret() {
    #expect(CanarySearch.occurs("9876543210", in: Data("+919876543210".utf8)))
    #expect(CanarySearch.occurs("alice-01", in: Data("xalice-01x".utf8)))
  }
}

import Testing
import UsherCore
import UsherTestKit

@Suite("Challenges of services that refuse a token")
struct BearerChallengeTests {
  @Test(
    "a Bearer or DPoP challenge is read, whatever its case, spaces and neighbours",
    arguments: [
      #"Bearer error="insufficient_user_authentication", acr_values="gold silver", max_age=60"#,
      #"bearer  ERROR = insufficient_user_authentication ,acr_values="gold silver",max_age="60""#,
      #"Basic realm="a, Bearer error=\"x\"", Bearer error="insufficient_user_authentication", "#
        + #"acr_values="gold silver", max_age="60""#,
      #"DPoP algs="ES256", error="insufficient_user_authentication", acr_values="gold silver", "#
        + #"max_age="60", Basic realm="b""#,
      #"Negotiate YI/I=, Bearer realm="r", error="insufficient_user_authentication", "#
        + #"acr_values="gold\ silver", max_age="60""#,
    ])
  func read(header: String) throws {
    let challenge = try #require(BearerChallenge(header))
    #expect(challenge.error == "insufficient_user_authentication")
    #expect(challenge.acrValues == "gold silver")
    #expect(challenge.maxAge == 60)
    #expect(challenge.scope == nil)
  }

  @Test("a challenge without parameters has no error")
  func bare() throws {
    #expect(try #require(BearerChallenge("Bearer")).error == nil)
  }

  @Test(
    "a header that is malformed or has no Bearer challenge is refused",
    arguments: [
      "", ",", "Basic realm=\"x\"", "Bearer a=b, error=",
      "Bearer error=\"x", "Bearer error=\"x\\",
      "Bearer error=a b", "Bearer error=a, error=b", "=a", "Bearer max_age=-1",
      "Bearer max_age=soon", "Bearer max_age=99999999999999999999", "Bearer error=\"a\"b",
      "Bearer (x)", "Bearer scope=\"a\\\\b\"", "Bearer acr_values=\"é\"",
      "Bearer scope=\"\(String(repeating: "a", count: 1025))\"",
      "Bearer " + String(repeating: "a", count: 9000),
    ])
  func malformed(header: String) {
    #expect(BearerChallenge(header) == nil)
  }

  @Test("no bytes make the reader fail")
  func anyBytes() {
    var generator = SeededGenerator(seed: 1)
    let parts = ["Bearer", "error", "=", "\"", "\\", ",", " ", "scope", "é", "\u{0}", "a=b"]
    for _ in 0..<2000 {
      let text = (0..<12).map { _ in parts.randomElement(using: &generator) ?? "" }.joined()
      _ = BearerChallenge(text)
    }
  }
}

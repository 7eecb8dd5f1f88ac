import Testing
import UsherCore

private let text = "hunter2-and-more"

private struct Holder {
  var name = "till"
  var secret = Secret(text)
  var sealed = Sealed(Secret(text))
  var maybe: Secret? = Secret(text)
}

private enum Answer {
  case password(Secret)
  case tokens([String: Sealed<Secret>], Secret?)
}

@Suite("Secrets")
struct SecretTests {
  private static let tokens = TokenSet(
    accessToken: Sealed(Secret(text)), tokenType: "Bearer", expiresAt: nil, scope: "openid",
    refreshToken: Sealed(Secret(text)), idToken: Sealed(Secret(text)))

  /// Values of every kind that hold a secret.
  private static var holders: [Any] {
    let (secret, sealed) = (Secret(text), Sealed(Secret(text)))
    return [
      secret, sealed, Secret?.some(secret) as Any, Sealed<Secret>?.some(sealed) as Any,
      [secret], [sealed], ["key": secret], ["key": sealed], Set([secret]), (secret, sealed),
      Holder(), Answer.password(secret), Answer.tokens(["key": sealed], secret), tokens,
      Result<Secret, UsherError>.success(secret), [[secret]], secret as Any,
      UsherError(.internalError, "no", cause: Carrier(secret: secret)),
    ]
  }

  private struct Carrier: Error { let secret: Secret }

  @Test("a secret prints as <secret>, also in every value that holds it", arguments: 0..<18)
  func prints(index: Int) {
    let holder = Self.holders[index]
    var dumped = ""
    dump(holder, to: &dumped)
    var printed = ""
    print(holder, to: &printed)
    var debugPrinted = ""
    debugPrint(holder, to: &debugPrinted)
    let ways = [
      String(describing: holder), String(reflecting: holder), "\(holder)", dumped, printed,
      debugPrinted,
    ]
    for way in ways {
      #expect(way.contains("<secret>"), "\(way)")
      #expect(!way.contains(text), "\(way)")
    }
  }

  @Test("the print test covers all 18 values that hold a secret")
  func count() { #expect(Self.holders.count == 18) }

  @Test("a secret and a sealed secret describe themselves as <secret>")
  func own() {
    let secret = Secret(text)
    #expect(secret.description == "<secret>")
    #expect(secret.debugDescription == "<secret>")
    #expect("\(secret)" == "<secret>")
    #expect("\(Sealed(secret))" == "<secret>")
    #expect(String(reflecting: Sealed(secret)) == "<secret>")
  }

  @Test("a mirror shows nothing of a secret, also inside another value")
  func mirrored() {
    #expect(Mirror(reflecting: Secret(text)).children.isEmpty)
    #expect(Mirror(reflecting: Sealed(Secret(text))).children.isEmpty)
    var seen: [String] = []
    walk(Holder(), &seen)
    #expect(seen.contains("till"))
    #expect(!seen.contains { $0.contains(text) })
  }

  private func walk(_ value: Any, _ seen: inout [String]) {
    if let text = value as? String { seen.append(text) }
    for child in Mirror(reflecting: value).children { walk(child.value, &seen) }
  }

  @Test("a secret is not Codable")
  func coding() {
    let secret: Any = Secret(text)
    #expect(!(secret is any Encodable))
    #expect(!(secret is any Decodable))
  }

  @Test("revealed returns the text of a secret, and unsealed that of a sealed secret")
  func opens() {
    #expect(Secret(text).revealed() == text)
    #expect(Sealed(Secret(text)).unsealed().revealed() == text)
    #expect(Secret("").isEmpty)
    #expect(!Secret(text).isEmpty)
  }

  @Test("secrets of the same bytes are equal", arguments: ["", "a", text, "é", "\0", "🂡 and more"])
  func equal(text: String) {
    #expect(Secret(text) == Secret(text))
    #expect(Set([Secret(text), Secret(text)]).count == 1)
  }

  @Test("secrets that differ in one bit are not equal")
  func differs() {
    let bytes = Array(text.utf8)
    for index in bytes.indices {
      for bit in 0..<7 {
        var changed = bytes
        changed[index] ^= 1 << UInt8(bit)
        #expect(Secret(String(decoding: changed, as: UTF8.self)) != Secret(text))
      }
    }
  }

  @Test("secrets of different lengths or Unicode composition are not equal")
  func differsOtherwise() {
    #expect(Secret(text) != Secret(text + "x"))
    #expect(Secret(text) != Secret(String(text.dropLast())))
    #expect(Secret("") != Secret("\0"))
    #expect(Secret("\u{e9}") != Secret("e\u{301}"))
  }
}

import Foundation
import JSONRPC
import Synchronization
import Testing
import UsherConfig
import UsherCore
import UsherTestKit

@testable import UsherDaemon
@testable import UsherFlows

/// A provider's list of keys, with a count of fetches.
private final class KeyServer: Sendable {
  private let state = Mutex<(key: String?, fetches: Int)>((nil, 0))

  init(_ key: String?) { serve(key) }

  /// - Parameter key: The key, or `nil` if the provider is unreachable.
  func serve(_ key: String?) { state.withLock { $0.key = key } }

  var fetches: Int { state.withLock { $0.fetches } }

  func answer() -> CallOutcome {
    let key = state.withLock { state in
      state.fetches += 1
      return state.key
    }
    guard let key else { return .unreachable(message: "gone", sent: true) }
    let keys: JSONValue = [["keyType": "RSA", "key": .string(key)]]
    return .reply(HTTPReply(status: 200, body: keys.encoded()))
  }
}

@Suite("Signatures of Truecaller profiles", .timeLimit(.minutes(10)))
struct SignatureVerifierTests {
  private let clock = FakeClock()
  private let provider = ProviderConfig(
    name: ProviderName("truecaller"),
    settings: TruecallerSettings(appKeyCredential: "k", appLink: "l"))

  private func verifier(_ server: KeyServer) -> SignatureVerifier {
    SignatureVerifier(clock: clock) { _, _ in server.answer() }
  }

  private func signed(_ signature: String, text: String = Vector.text) throws -> SignedText {
    SignedText(text: text, signature: Array(try #require(Data(base64Encoded: signature))))
  }

  private let genuine = IDTokenVerdict.genuine(payload: Array(Vector.text.utf8))
  private let wrong = IDTokenVerdict.refused(message: "the profile's signature is wrong")

  @Test("a genuine profile signature over the Base64 text is accepted, with one key fetch")
  func good() async throws {
    let server = KeyServer(Vector.key)
    let verifier = verifier(server)
    for _ in 0..<3 {
      #expect(await verifier.verify(try signed(Vector.signature), provider: provider) == genuine)
    }
    #expect(server.fetches == 1)
  }

  @Test(
    "a profile signature by another key, digest or text, or of a wrong form, is refused",
    arguments: [
      Vector.ofDecoded, Vector.bySHA256, Vector.otherSignature, "AA==", "",
    ])
  func bad(signature: String) async throws {
    let verdict = await verifier(KeyServer(Vector.key))
      .verify(try signed(signature), provider: provider)
    #expect(verdict == wrong)
  }

  @Test("a profile signature is refused for another text")
  func otherText() async throws {
    let verdict = await verifier(KeyServer(Vector.key))
      .verify(try signed(Vector.signature, text: Vector.text + "="), provider: provider)
    #expect(verdict == wrong)
  }

  @Test("a profile signature that does not fit the cached key makes the key be fetched once more")
  func rotation() async throws {
    let server = KeyServer(Vector.key)
    let verifier = verifier(server)
    _ = await verifier.verify(try signed(Vector.signature), provider: provider)
    server.serve(Vector.otherKey)
    let rotated = await verifier.verify(try signed(Vector.otherSignature), provider: provider)
    #expect(rotated == genuine)
    #expect(server.fetches == 2)
    #expect(await verifier.verify(try signed(Vector.signature), provider: provider) == wrong)
    #expect(server.fetches == 3)
  }

  @Test("a cached profile key is fetched again after an hour")
  func oldKey() async throws {
    let server = KeyServer(Vector.key)
    let verifier = verifier(server)
    _ = await verifier.verify(try signed(Vector.signature), provider: provider)
    server.serve(Vector.otherKey)
    clock.advance(by: .seconds(3600))
    #expect(await verifier.verify(try signed(Vector.signature), provider: provider) == wrong)
  }

  @Test("a profile signature is not judged while the keys are unreachable, and accepted later")
  func gone() async throws {
    let server = KeyServer(nil)
    let verifier = verifier(server)
    #expect(
      await verifier.verify(try signed(Vector.signature), provider: provider)
        == .unreachable(message: "gone"))
    server.serve(Vector.key)
    #expect(await verifier.verify(try signed(Vector.signature), provider: provider) == genuine)
  }

  @Test("an invalid or 1024-bit profile key is refused, an empty list of keys is keyless")
  func keys() async throws {
    for (key, signature) in [("AA==", Vector.signature), (Vector.shortKey, Vector.shortSignature)] {
      let verdict = await verifier(KeyServer(key))
        .verify(try signed(signature), provider: provider)
      #expect(verdict == wrong)
    }
    let verdict = await verifier(KeyServer("")).verify(
      try signed(Vector.signature), provider: provider)
    #expect(verdict == .keyless(message: "the provider publishes no RSA key"))
  }
}

/// Made with `openssl genrsa` (2048 bits, the short one 1024) and `openssl dgst -sha512 -sign`.
private enum Vector {
  /// `{"firstName":"Asha"}`
  static let text = "eyJmaXJzdE5hbWUiOiJBc2hhIn0="
  /// `ofDecoded` signs the decoded text; `bySHA256` uses another digest.
  static let key = """
    MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEAki8zXn4Ra7iUj+WaRyl89ljnzm1llbX6R3BauqZn6r8f\
    +gPzQ/LEgEJtP/7AI3hFlZzA9ICZRZTsp0LEHhU/8VdNdN0Zz7m/1xqn4EGYtqMw6jpE5UzVforc4iecq+2kvC+b\
    XWG1MvV4aqBE0gtbixXQc4nxM/LtsmAaxqnmX0sFJ6Nc9LqdTmJLBT5p7/TYdVAy/RzOIWci6hQCmSjsj9QhrQaW\
    ATGaXyYZL1Gxgk51qss7lUu7of2ePlOc/zZI4e8YS7VMwjWHLFbW2aZ6MVor8pOOVp7DqtAp124Ey4/gCuUHCo9J\
    3Oqh3+C30is38rYTSwdBFhOwqen5Cjh6aQIDAQAB
    """
  static let otherKey = """
    MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEA9qEzM7m0TouyMaFO/ffY6tN3KpRKHTBko7kvByi3lCAo\
    XtEaKuDppGa0M2Hi2PAJNH5Aic+KhDOUD1d3MMm+oKjvgeKpEDJHZfJ3zQI6U2DRJO7YKQY+aCs8k8PLSPXJjWLn\
    0cyy4Teb9FVu4EwnuqeSOagg8b08HagbH+lSxpxz51onV7fg9++cudF4PMthu3GMpE+isD8C05DuX3gdV/pXuGf0\
    1G7lNr8eOBILUEQxDfN+NiCjzGorXO0M5H1vns5XluluR7/P1fk88xiOgi+J40JoOTS6pWwPxD/iuNQ4aDSZavWJ\
    3Lk4Eg3b93FQD+SW4GTyg/sK2SUUDTzO5QIDAQAB
    """
  static let shortKey = """
    MIGfMA0GCSqGSIb3DQEBAQUAA4GNADCBiQKBgQDFg6L/PIPOodnylNX8+vVq8Gfftl35OJjBmZrBrxNvO4QyMNLs\
    8W6MO1lJRudpbxedz+ThBzB4zvfBhIdfIXCGUdl0Vc94jUXUPsOt4iBQ9WohehpqUvbo7PmABvxCb+QfHvaLfmKB\
    263dLMz8kA3QrO9c1wb4U9eBK6TlRYq30QIDAQAB
    """
  static let signature = """
    LX0Nox/1YBVEqoBnx/Pe8VOjRJVQgGrtCtNx1IubrPzP1CBO+dcXjDASmNVTTvoIZPuv5By8fPhShVVNdaIu36Qi\
    htmTP940+pP5z+rGG0u9QuSor8pm0vXrzcX6PMmmd3MivoKNFQy0dJxkPMp5BY6dzJatla9gmsk8STYXviqhlqBW\
    EQQ0TbhNBeCCf5NFa00EJi4bzPhbnStRlKJ+Kz3PtcRzCukUJVYo9ToXt87g5gj8DA1zYrCZpuYmyU4TPuq+zxZI\
    fY7fCrg7pwiIqIu88gyeYIACrNVhL4NdOwQkjP0Xv8hbIhIorlQxEiNhnHrE3iSoZ4QBdWf8KP4Bxg==
    """
  static let otherSignature = """
    HmPg9+7zR+3zruMktkfLWSh87AZPLnVPIxEVNttDpPCksPBV4tJrte0jmcH2sM6gFOpYfUlue20X7lFfBsoI0kdv\
    vKKDvZtMByStS2+N1/KoSklSE4aLexfhiBW5MPXHBrGuu+WRj+XS24/yX+fZJg5yFD7Ew9aSRTYxBFiMBBLRnR+e\
    YWyqZRgwObdriRbmHnUznwdpQOtpxjYsy6LdQKYUny4uOZCsb/J3votD7oxtLCfQds+SIYKZDOTZa953egXVahbO\
    vx/LEBmkec7EKjiHNnl5BrqXD+khPtKDn4UgZE1cifSCbFmclPGhSokr3yXKkdzRmqwBNBFHlznd8g==
    """
  static let shortSignature = """
    AWwf1F16PMATCe/fehW969HElfHIGfV6pWj2veHSEe0FZxGzSf6P1MWpmUKNKxy+m0T2mMphveP9wQCMkFIxok7v\
    47CmBqPicPxufSF9YaKi8YyzQpGaqCWSEFV9TBaci84kKyANSHhnqTeIG8dWrxqZWcAYpyE8jpONqGXQJho=
    """
  static let ofDecoded = """
    j5B8ZShnMkmEuvykneBmj79USP8jOII3lFK7g+M6QSRh2l54HtG9sPhg9KhQX9o5/OWkGXfwrIFn8TZ3BdvOUdgT\
    JyF24ZB8kXpNqUjkf3G+sglKwJbtsbh2A7HCYi8DFHb0jkmVN/J54Z/6dIrw58gHB+CoGBz5ZIMWcPfLyef0ppZ4\
    VbrsFBazEY859/SZvDZs+qzt2L2D7x8nNz866dDhZA3+rLZF7HFMZrSHwCOG2fcyecScwbJX/nqjpv8BoCYof5/Z\
    wq7hOx5iAbscQ9Vw4cgOIYeJuMjJ2YxIHcaQhMZUHtl3aww+ob+w8zH1u+m8apauRe30jhPa8a+2Lw==
    """
  static let bySHA256 = """
    NFmioTpw0+SP/M1l8m1fHrwOcf9sb4EaF0/Tj2Im25dJDhWhT2NGbuZHZQSq0J6SxlHQ+nU9rXtBsSDlp5LdIk90\
    kSLzcA2az+FsDY6y8aO/XKHdXOgrzSTNU9M83//5u/12K4QXxr7kpgHF5Vwo8eY8SnfmEQkXG2gVSmd3PrWDi+rN\
    7Snl3QMNfx8zqz1dx3DtEA1wcsUxnjJy6yiBr4anriXRJ9cA8984aDRkUsAUiW//cY4/beVWZKHkXIQhmAdeu03l\
    J8/uQQ1XqAY3Z+ZK8F3P4gF3JCyTEEEwYkgy26Ux7FU3oPSMay7nHgyiLXNGpVMUVYJYnxMD2WgZvA==
    """
}

import FoundationEssentials
import Testing
import UsherClient
import UsherCore

@testable import UsherKit

@Suite("Freedom ID errors of UsherKit", .timeLimit(.minutes(10)))
struct FreedomIDWordTests {
  private static let words: [(String, FreedomIDError)] = [
    ("parsingError", .parsingError), ("incorrectApiKey", .incorrectApiKey),
    ("componentValidationError", .componentValidationError),
    ("dataProcessingError", .dataProcessingError), ("utilityError", .utilityError),
    ("accessDenied", .accessDenied), ("configurationError", .configurationError),
    ("authError", .authError), ("unknownError", .unknownError), ("userCanceled", .userCanceled),
    ("dataGrantsCanNotBeEmpty", .dataGrantsCanNotBeEmpty),
    (
      "transmissionError.incorrectRequestStructure",
      .transmissionError(.incorrectRequestStructure)
    ),
    ("transmissionError.identificationError", .transmissionError(.identificationError)),
    ("transmissionError.appIntegrityError", .transmissionError(.appIntegrityError)),
    ("transmissionError.autheticationError", .transmissionError(.autheticationError)),
    ("transmissionError.requestSendingError", .transmissionError(.requestSendingError)),
    ("transmissionError.requestReceivingError", .transmissionError(.requestReceivingError)),
    ("networkError.connectionError", .networkError(.connectionError)),
    ("networkError.streamError", .networkError(.streamError)),
    ("networkError.codeError", .networkError(.codeError)),
    ("networkError.bodyError", .networkError(.bodyError)),
    ("networkError.unknownError", .networkError(.unknownError)),
  ]

  @Test("a failed Freedom ID flow returns the SDK error that its code names", arguments: words)
  func failures(word: String, error: FreedomIDError) async throws {
    let daemon = FreedomIDDaemon(.failed("provider_rejected", word))
    #expect(try await daemon.authorize().error == error)
    #expect(error.code == word && "\(error)" == word)
  }

  @Test(
    "the documented Freedom ID error table lists every error of the SDK")
  func all() throws {
    var root = URL(filePath: #filePath)
    for _ in 0..<3 { root.deleteLastPathComponent() }
    let path = "Sources/UsherDaemon/Usher.docc/Providers/FreedomID.md"
    let page = String(decoding: try Data(contentsOf: root.appending(path: path)), as: UTF8.self)
    for (word, _) in Self.words { #expect(page.contains("| `\(word)` |"), "\(word)") }
    #expect(FreedomIDError.allCases == Self.words.map(\.1))
    #expect(TransmissionErrors.allCases.count == 6 && NetworkError.allCases.count == 5)
  }

  @Test(
    "an unknown Freedom ID error code becomes unknownError",
    arguments: [
      "", "ParsingError", "transmissionError", "networkError.", "networkError.identificationError",
      "transmissionError.authenticationError", "somethingNew",
    ])
  func unknown(word: String) async throws {
    let daemon = FreedomIDDaemon(.failed("denied", word))
    #expect(try await daemon.authorize().error == .unknownError)
  }

  @Test(
    "a Freedom ID failure without an error code becomes the nearest SDK error",
    arguments: [
      ("cancelled", .userCanceled), ("expired", .userCanceled), ("denied", .accessDenied),
      ("invalid_request", .componentValidationError), ("provider_rejected", .unknownError),
      ("provider_unreachable", .networkError(.connectionError)),
      ("provider_protocol_error", .utilityError), ("attempts_exhausted", .authError),
    ] as [(String, FreedomIDError)])
  func wordless(reason: String, error: FreedomIDError) async throws {
    #expect(try await FreedomIDDaemon(.failed(reason, nil)).authorize().error == error)
  }

  @Test(
    "each refusal of the daemon becomes a Freedom ID error and shows no screen",
    arguments: [
      ("not_found", "provider", .configurationError),
      ("invalid_params", "kind", .configurationError),
      ("invalid_params", "params.grants", .componentValidationError),
      ("permission_denied", nil, .accessDenied),
      ("rate_limited", nil, .transmissionError(.requestSendingError)),
      ("message_too_large", nil, .transmissionError(.requestSendingError)),
      ("shutting_down", nil, .networkError(.connectionError)),
      ("internal_error", nil, .utilityError),
      ("reauthentication_required", nil, .authError), ("conflict", nil, .unknownError),
    ] as [(String, String?, FreedomIDError)])
  func refusals(reason: String, field: String?, error: FreedomIDError) async throws {
    let viewer = FreedomIDViewer.willing()
    let refusal = FreedomIDDaemon.error(reason, field: field)
    // A daemon that is shutting down is asked a second time.
    let daemon = FreedomIDDaemon(starts: [.refused(refusal), .refused(refusal)])
    #expect(try await daemon.authorize(viewer).error == error)
    #expect(viewer.shown.isEmpty && viewer.ends.isEmpty)
  }

  @Test(
    "each connection error becomes a Freedom ID error",
    arguments: [
      (.noSocket, .networkError(.connectionError)), (.refused, .networkError(.connectionError)),
      (.lost, .networkError(.connectionError)), (.notPermitted, .accessDenied),
      (.garbled, .parsingError), (.replyTooLarge, .parsingError), (.incompatible, .parsingError),
      (.other, .networkError(.unknownError)),
    ] as [(ConnectionError.Kind, FreedomIDError)])
  func troubles(kind: ConnectionError.Kind, error: FreedomIDError) {
    #expect(FreedomIDError(ConnectionError(kind, socketPath: "/s")) == error)
  }

  @Test("authorize without a running daemon ends with a Freedom ID connectionError")
  func noDaemon() async {
    let sdk = freedomID("/tmp/no-such-folder/s")
    #expect(await sdk.outcome(FreedomIDViewer.willing()).error == .networkError(.connectionError))
  }
}

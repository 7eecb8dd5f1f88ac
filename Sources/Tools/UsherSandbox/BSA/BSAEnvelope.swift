/// The body and status of a response: an envelope `{rtCode, rtMsg, data}`, or a test's replacement.
struct BSAEnvelope: Sendable, Hashable {
  enum Body: Sendable, Hashable {
    case members([String: JSON])
    case text(String)
  }

  var body: Body
  /// The HTTP status.
  var status: Int

  init(body: Body, status: Int) {
    (self.body, self.status) = (body, status)
  }

  /// Creates the envelope of a success.
  init(data: JSON?) {
    var members: [String: JSON] = ["rtCode": 0, "rtMsg": "OK"]
    members["data"] = data
    self.init(body: .members(members), status: 200)
  }

  init(_ refusal: BSARefusal, _ settings: BSABackendSettings) {
    self.init(
      body: .members(["rtCode": .integer(refusal.rtCode), "rtMsg": .string(refusal.message)]),
      status: settings.refusalStatus)
  }

  var reply: Reply {
    switch body {
    case .text(let text):
      return Reply(
        status: status,
        headers: ["Content-Type": "text/plain; charset=utf-8", "Cache-Control": "no-store"],
        body: Array(text.utf8), error: "no envelope")
    case .members(let members):
      let code = members["rtCode"]
      let error: String? = if case .integer(let code)? = code, code != 0 { "\(code)" } else { nil }
      return .json(.object(members), status: status, error: error)
    }
  }
}

extension BSABackend {
  /// Responds with the result of `handle` as `data`, with its refusal, or as a test has prescribed.
  func envelope(
    _ name: String, _ call: EndpointCall, _ handle: nonisolated(nonsending) () async throws -> JSON?
  ) async -> Reply {
    let wanted = answers.next("bsa.\(name)")
    let replacement = wanted?.replacement(settings)
    if let replacement, wanted?.processed == false { return replacement.reply }
    var envelope: BSAEnvelope
    do {
      envelope = BSAEnvelope(data: try await handle())
    } catch let refusal as BSARefusal {
      envelope = BSAEnvelope(refusal, settings)
    } catch {
      envelope = BSAEnvelope(.failed(error), settings)
    }
    if let wanted { envelope = replacement ?? wanted.applying(to: envelope) }
    return envelope.reply
  }
}

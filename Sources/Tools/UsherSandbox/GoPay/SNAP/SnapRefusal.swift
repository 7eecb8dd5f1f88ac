/// The SNAP services of the fake, with their digits in response codes.
enum SnapService: String, Sendable {
  case b2b = "73"
  case binding = "07"
  case unbinding = "09"

  /// - Parameters:
  ///   - status: The HTTP status, with which the response code begins.
  ///   - end: The last two digits of the response code.
  func refusal(_ status: Int, _ end: String, _ message: String) -> SnapRefusal {
    SnapRefusal(status: status, code: "\(status)\(rawValue)\(end)", message: message)
  }

  /// A header or member is missing or invalid.
  func field(_ message: String) -> SnapRefusal {
    refusal(400, self == .b2b ? "00" : "02", message)
  }

  /// The client, the signature or the time of a request is invalid.
  func unauthorized(_ message: String) -> SnapRefusal { refusal(401, "00", message) }

  func success(_ members: [String: JSON] = [:]) -> [String: JSON] {
    members.merging(["responseCode": .string("200\(rawValue)00"), "responseMessage": "Successful"])
    { $1 }
  }
}

/// An error of SNAP: `{"responseCode", "responseMessage"}`.
struct SnapRefusal: Error, Hashable {
  let status: Int
  let code: String
  let message: String

  var reply: Reply {
    .json(
      ["responseCode": .string(code), "responseMessage": .string(message)], status: status,
      error: code)
  }
}

/// Converts a handler's error into a SNAP response.
nonisolated(nonsending) func respondingWithSnapErrors(
  _ service: SnapService, _ handle: nonisolated(nonsending) () async throws -> Reply
) async -> Reply {
  do {
    return try await handle()
  } catch let refusal as SnapRefusal {
    return refusal.reply
  } catch let refusal as OAuthError {
    return service.field(refusal.description).reply
  } catch {
    return service.refusal(500, service == .b2b ? "00" : "01", "the sandbox failed: \(error)").reply
  }
}

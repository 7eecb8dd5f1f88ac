import UsherAPI
import UsherConfig
import UsherCore

// Tokens for the targets of the configuration.
extension TokenService {
  /// Implements `token.forTarget`: `token.get` of what the target names. The reply has the target's
  /// user name and pattern as further members.
  func get(_ call: TokenForTarget, _ authorized: AuthorizedCall) throws(UsherError) -> Response {
    guard let target = authorized.answering else {
      throw UsherError(.internalError, "an allowed call has no target")
    }
    var get = TokenGet(target)
    get.minValidSeconds = call.minValidSeconds
    get.forceRefresh = call.forceRefresh
    get.challenge = call.challenge
    let added = try ReplyEncoder.encode(
      TargetMembers(username: target.username, match: target.match.settingText))
    do throws(UsherError) {
      let response = try self.get(
        get, of: try authorized.account, authorized.caller, within: authorized.permit.scopes,
        as: authorized.request)
      return try response.adding(added, of: target)
    } catch {
      throw error.about(target)
    }
  }
}

/// The members of the reply to `token.forTarget` that the one to `token.get` does not have.
private struct TargetMembers: Encodable {
  let username: String?
  let match: String
}

extension Response {
  /// Returns the response with further members in its reply.
  ///
  /// - Parameter members: A JSON object.
  fileprivate func adding(
    _ members: [UInt8], of target: TargetConfig
  ) throws(UsherError) -> Response {
    switch self {
    case .now(let reply): return .now(reply.adding(members))
    case .cacheable(let cached):
      return .cacheable(
        CachedReply(
          reply: cached.reply.adding(members), validity: cached.validity,
          repository: cached.repository))
    case .later(let body):
      return .later { () async throws(UsherError) -> [UInt8] in
        do throws(UsherError) {
          return try await body().adding(members)
        } catch {
          throw error.about(target)
        }
      }
    case .cold, .resumed:
      throw UsherError(.internalError, "token.get of an account in memory waits for the disk")
    }
  }
}

extension [UInt8] {
  /// Returns this JSON object with the members of another one at its end. Neither is empty.
  fileprivate func adding(_ members: [UInt8]) -> [UInt8] {
    dropLast() + [UInt8(ascii: ",")] + members.dropFirst()
  }
}

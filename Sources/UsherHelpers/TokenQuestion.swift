import JSONRPC

/// The one call that a helper makes: `token.forTarget`.
package struct TokenQuestion: Sendable, Equatable {
  /// The kind of target, such as `git`.
  package var kind: String
  /// What the tool wants to reach, such as `https://git.example.com/team/app`.
  package var name: String
  /// Whether the server has refused the present token.
  package var forceRefresh: Bool

  package init(_ kind: String, _ name: String, forceRefresh: Bool = false) {
    self.kind = kind
    self.name = name
    self.forceRefresh = forceRefresh
  }

  private static let id = RequestID(1)
  /// The maximum number of bytes of usherd's reply. A token has at most some kilobytes.
  package static let maxReplyBytes = 1 << 20

  /// The call as a line of JSON-RPC, with its `\n`.
  package var line: [UInt8] {
    var params: JSONValue = ["kind": .string(kind), "name": .string(name)]
    if forceRefresh { params["forceRefresh"] = true }
    var line: [UInt8] = []
    line.appendRequest(method: "token.forTarget", params: params.encoded(), id: Self.id)
    line.append(UInt8(ascii: "\n"))
    return line
  }

  /// Returns the token or the error in usherd's reply.
  ///
  /// - Parameter line: The reply without its `\n`.
  package func answer(in line: [UInt8]) -> Result<IssuedToken, TokenFailure> {
    let messages = try? line.withUnsafeBytes {
      try ServerMessage.read($0, limits: JSONLimits(nesting: 16, batch: 1))
    }
    guard case .response(let response)? = messages?.first,
      // An error about a line that usherd could not read has no id.
      response.id == Self.id || response.id == .null
    else { return .failure(.unreadable) }
    switch response.outcome {
    case .success(let result) where response.id == Self.id:
      let limits = JSONLimits(nesting: 16, values: 1024)
      guard let value = try? JSONValue(parsing: result, limits: limits),
        let token = IssuedToken(value)
      else { return .failure(.unreadable) }
      return token.isBoundToKey ? .failure(.boundToKey) : .success(token)
    case .success: return .failure(.unreadable)
    case .failure(let error): return .failure(TokenFailure(error))
    }
  }
}

/// A message from a server, as a client reads it.
///
/// ```swift
/// for message in try ServerMessage.read(line) {
///   switch message {
///   case .response(let response): resume(response.id, response.outcome)
///   case .notification(let method, let params): deliver(method, params)
///   case .request(let id, _, _): refuse(id)
///   }
/// }
/// ```
package enum ServerMessage: Sendable, Hashable {
  case response(Response)
  /// A notification by the server. `params` is valid JSON; nil if there is none.
  case notification(method: String, params: [UInt8]?)
  /// A request by the server. usherd sends none; a client answers with `method_not_found`.
  case request(id: RequestID, method: String, params: [UInt8]?)

  package struct Response: Sendable, Hashable {
    /// The id of the call that the response answers; `null` if the server could not read the id.
    package let id: RequestID
    /// The error, or the result as valid JSON.
    package let outcome: Result<[UInt8], ResponseError>
  }

  /// Reads a line, as strictly as the server does. A batch gives several messages.
  ///
  /// - Throws: ``Refusal`` for an invalid line. One invalid element refuses its whole batch,
  ///   because it is unknown which call the element answers.
  package static func read(
    _ line: UnsafeRawBufferPointer, limits: JSONLimits = JSONLimits()
  ) throws(Refusal) -> [ServerMessage] {
    try objects(in: line, limits: limits).map { members throws(Refusal) in
      try ServerMessage(members, in: line)
    }
  }
}

/// The member `error` of a response.
package struct ResponseError: Error, Sendable, Hashable {
  package var code: Int
  package var message: String
  package var data: JSONValue?
}

// MARK: - Reading

extension ServerMessage {
  /// The objects of a line, or the first refusal of one. A syntax error later in the line takes
  /// precedence.
  private typealias Found = Result<[MessageMembers], Refusal>

  private static func objects(
    in line: UnsafeRawBufferPointer, limits: JSONLimits
  ) throws(Refusal) -> [MessageMembers] {
    let found: Found
    do throws(JSONSyntaxError) {
      var reader = try Reader(line, nesting: limits.nesting)
      found = try objects(&reader, limit: limits.batch)
      try reader.finish()
    } catch {
      throw Refusal(error)
    }
    return try found.get()
  }

  private static func objects(
    _ reader: inout Reader, limit: Int
  ) throws(JSONSyntaxError) -> Found {
    let start = reader.at
    guard reader.current == UInt8(ascii: "[") else { return try object(&reader) }
    try reader.enterContainer()
    var all: [MessageMembers] = []
    var refused: Refusal?
    var isFirst = true
    while try reader.nextElement(&isFirst) {
      if all.count >= limit { refused = refused ?? Refusal(.batchTooLarge, at: start) }
      switch try object(&reader) {
      case .success(let members): if refused == nil { all += members }
      case .failure(let refusal): refused = refused ?? refusal
      }
    }
    if let refused { return .failure(refused) }
    return all.isEmpty ? .failure(Refusal(.emptyBatch, at: start)) : .success(all)
  }

  private static func object(_ reader: inout Reader) throws(JSONSyntaxError) -> Found {
    if reader.current == UInt8(ascii: "{") { return .success([try MessageMembers(&reader)]) }
    let start = reader.at
    _ = try reader.value()
    return .failure(Refusal(.notAMessage, at: start))
  }

  private init(_ members: MessageMembers, in line: UnsafeRawBufferPointer) throws(Refusal) {
    try members.checkVersion(in: line)
    try members.checkID()
    let id = members.id.map { RequestID($0, in: line) }
    guard members.method != nil else {
      guard let id else { throw members.refusal(.notAResponse, at: nil) }
      self = .response(Response(id: id, outcome: try members.outcome(in: line)))
      return
    }
    let method = line.string(try members.methodText())
    let params = try members.checkedParams().range.map { Array(line.part($0)) }
    if let id {
      self = .request(id: id, method: method, params: params)
    } else {
      self = .notification(method: method, params: params)
    }
  }
}

extension MessageMembers {
  fileprivate func outcome(
    in line: UnsafeRawBufferPointer
  ) throws(Refusal) -> Result<[UInt8], ResponseError> {
    switch (result, error) {
    case (let result?, nil): return .success(Array(line.part(result.range)))
    case (nil, let error?): return .failure(try responseError(error, in: line))
    case (nil, nil), (.some, .some): throw refusal(.notAResponse, at: nil)
    }
  }

  private func responseError(
    _ token: Token, in line: UnsafeRawBufferPointer
  ) throws(Refusal) -> ResponseError {
    let value: JSONValue
    do {
      value = try JSONValue(parsing: line.part(token.range), limits: JSONLimits(nesting: .max))
    } catch {
      throw refusal(.syntax(error.problem), at: token)
    }
    guard let code = value["code"]?.integerValue, let message = value["message"]?.stringValue
    else { throw refusal(.malformedError, at: token) }
    return ResponseError(code: Int(code), message: message, data: value["data"])
  }
}

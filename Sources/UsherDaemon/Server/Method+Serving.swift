import JSONRPC
import UsherAPI
import UsherConfig
import UsherCore

/// What a handler does with a call: answer on the spot, or later in a task of its own.
enum Response: Sendable {
  /// The encoded result. Most calls: no task, no switch of threads.
  case now([UInt8])
  /// The same, and it may be good for the next call like this.
  case standing(CachedReply)
  /// For calls that really wait: for the disk, a provider, a person.
  case later(@Sendable () async throws(UsherError) -> [UInt8])
  /// The call needs something that is read first, from the disk or the user database. The body reads it
  /// in a task of its own, and the connection answers nothing else until then. The body's response may
  /// be `cold` again, where the call made after the first reading needs another one.
  case cold(@Sendable () async throws(UsherError) -> Response)
  /// After `cold` only: the call is made now, on the event loop of its connection.
  case resumed(@Sendable (Call) throws(UsherError) -> Response)

  static func now(_ reply: some Encodable) throws(UsherError) -> Response {
    .now(try ReplyEncoder.encode(reply))
  }
}

/// One call, on the event loop of its connection.
struct Call {
  let caller: Caller
  let connection: any ConnectionLink
}

/// What a handler may do to the connection it was called on; on its event loop only.
protocol ConnectionLink: AnyObject {
  /// Those with which it began.
  var limits: Limits { get }
  func cancel(_ id: RequestID)
  func subscribe(_ call: EventsSubscribe) throws(UsherError) -> EventsSubscribe.Reply
  func unsubscribe(_ subscription: String) throws(UsherError)
}

/// What a call is about, for the policy: the method alone, or with a provider and a kind.
///
/// Not `M: Method`: the runtime would look for that conformance once for each method at a start, among all
/// conformances of the program.
enum Subject<M>: Sendable {
  case method
  case provider(@Sendable (M) -> ProviderName?)
  case start(@Sendable (M) -> FlowStart, name: @Sendable (inout M, AccountID) -> Void)
  /// An account that is named, or all accounts of a provider.
  case account(@Sendable (M) -> (AccountID?, ProviderName?))
  case oneAccount(OneAccount<M>)
  case flow(@Sendable (M) -> FlowID)
}

/// How a method finds the one account that it acts on, which a call need not name.
///
/// The account is found once, before the policy is asked, and written into the call: what was decided
/// about is what the handler acts on.
struct OneAccount<M>: Sendable {
  let named: @Sendable (M) -> (AccountID?, ProviderName?)
  /// Throws where the account is not there for the caller, or it cannot be told which one is meant.
  let find: @Sendable (M, Caller) throws(UsherError) -> AccountRecord
  let name: @Sendable (inout M, AccountID) -> Void
}

/// A call about one account, by its id or as the only one of a provider.
protocol OneAccountCall: Method {
  var account: AccountID? { get set }
  var provider: ProviderName? { get }
}

extension TokenGet: OneAccountCall {}
extension TokenRevoke: OneAccountCall {}
extension AccountForget: OneAccountCall {}
extension TOTPCode: OneAccountCall {}

extension Subject where M: OneAccountCall {
  /// - Parameter find: Given what the call names, for whom, and the method's name.
  static func one(
    by find:
      @escaping @Sendable (AccountID?, ProviderName?, Caller, String) throws(UsherError)
      -> AccountRecord
  ) -> Subject {
    .oneAccount(
      OneAccount(
        named: { ($0.account, $0.provider) },
        find: { call, caller throws(UsherError) in
          try find(call.account, call.provider, caller, M.name)
        },
        name: { $0.account = $1 }))
  }
}

extension Subject where M == FlowStart {
  static var flowStart: Subject {
    .start({ $0 }, name: { $0.params["account"] = .string($1.rawValue) })
  }
}

/// One line of the method table.
struct MethodEntry: Sendable {
  let type: any Method.Type
  /// Refuses a caller that may not make such a call, before its parameters are decoded.
  let refuse: @Sendable (UnsafeRawBufferPointer?, Caller) throws(UsherError) -> Void
  /// Decodes the parameters; on any thread.
  let decode: @Sendable (UnsafeRawBufferPointer?, ParamsLimit) throws(UsherError) -> DecodedParams
  /// Decides and answers the call; on the event loop.
  let run: @Sendable (DecodedParams, Call) throws(UsherError) -> Response
}

/// The parameters of a call as its method's type.
typealias DecodedParams = any Sendable

extension MethodEntry {
  /// - Parameter schema: Of the method's type.
  init<M: Method>(
    _ type: M.Type, schema: Lazy<Schema>,
    refuse: @escaping @Sendable (UnsafeRawBufferPointer?, Caller) throws(UsherError) -> Void,
    run: @escaping @Sendable (M, Call) throws(UsherError) -> Response
  ) {
    self.type = type
    self.refuse = refuse
    decode = { params, limit throws(UsherError) in
      let value = try limit.allowing(bytes: M.ownParamsBytes).value(params)
      return try StrictDecoding.decode(M.self, from: value, schema: schema.value)
    }
    self.run = { params, call throws(UsherError) in
      guard let params = params as? M else {
        throw UsherError(.internalError, "the parameters of \(M.name) are another method's")
      }
      return try run(params, call)
    }
  }
}

import JSONRPC
import UsherAPI
import UsherConfig
import UsherCore

/// What a handler does with a call: answer on the spot, or later in a task of its own.
enum Response: Sendable {
  /// The encoded result. Most calls: no task, no switch of threads.
  case now([UInt8])
  /// The same, and it may be good for the next call like this.
  case standing(StandingReply)
  /// For calls that really wait: for the disk, a provider, a person.
  case later(@Sendable () async throws(UsherError) -> [UInt8])
  /// What it is about is on the disk: it is decided in a task of its own when that has been read, and
  /// the connection answers nothing else until then. Never `cold` again.
  case cold(@Sendable () async throws(UsherError) -> Response)

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
enum Subject<M: Method>: Sendable {
  case method
  case provider(@Sendable (M) -> ProviderName?)
  case start(@Sendable (M) -> FlowStart)
  case account(@Sendable (M) -> (AccountID?, ProviderName?))
  case flow(@Sendable (M) -> FlowID)
}

/// One line of the method table.
struct MethodEntry: Sendable {
  let type: any Method.Type
  let run: @Sendable (JSONValue?, Call) throws(UsherError) -> Response
}

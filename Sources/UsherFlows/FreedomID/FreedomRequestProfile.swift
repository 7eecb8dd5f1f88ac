import JSONRPC
import UsherAPI
package import UsherConfig
package import UsherCore

/// Asks another user for a profile, and waits for that user's decision (provider contract §4.2,
/// §4.3, get-profile; page FreedomID in Usher.docc).
///
/// Freedom ID shows the request to the other user. Every call is safe to repeat, because the
/// request has an id of its own.
package struct FreedomRequestProfile: FreedomFlow, RetryingMachine {
  package typealias Event = FlowEvent<FreedomPartnerCall>
  package typealias Answer = UsherFlows.Answer<FreedomPartnerCall>
  package static let kind = "requestProfile"
  package static let summary = "Ask another person for a profile and wait for the answer."
  package static let needsAccount = true

  package struct Params: Codable, Sendable, Equatable, SchemaDocumented {
    /// The partner's own account, with grant `read.profile`.
    package var account: AccountID?
    /// The other user's id at Freedom, a UUID. Either this or `phone` is required.
    package var freedomId: String?
    /// The other user's phone number: `+` and 10 to 15 digits.
    package var phone: String?
    /// The requested fields: `read.firstname`, ….
    package var grants: [String]
  }

  package let provider: Provider<FreedomIDSettings>
  /// The state; nil if the flow failed before any call to Freedom ID.
  private var state: State?
  var problem: Problem?

  private enum State: Codable, Sendable, Equatable {
    /// Sends the request to Freedom ID. Next: pending, or the end.
    case requested(Inquiry, RetryBackoff)
    /// Polls until the other user has decided. Next: the end.
    case pending(Inquiry, isAsking: Bool)
  }

  private struct Inquiry: Codable, Sendable, Equatable {
    let account: AccountID
    let request: ProfileRequest

    var status: FreedomPartnerCall { .profileStatus(account, request: request.id) }

    /// Returns whether a reply is about this request; a reply without a request id is accepted.
    func isMatch(for members: [String: JSONValue]) -> Bool {
      guard let id = members["request_id"], !id.isNull else { return true }
      return id.stringValue?.lowercased().hasSameBytes(as: request.id) ?? false
    }
  }

  package static func begin(
    _ params: Params, _ context: FlowContext<FreedomIDSettings>,
    at transition: inout TransitionContext
  ) throws(UsherError) -> (FreedomRequestProfile, Answer) {
    let account = try ParamsValidation.account(context)
    var flow = FreedomRequestProfile(provider: context.provider, state: nil)
    do throws(Failure) {
      let grants = try params.grants.dataGrants(at: context.provider.name)
      let request = ProfileRequest(
        id: transition.uuid(), createdAt: transition.now,
        person: try person(params, context.provider.name), grants: grants)
      let answer = flow.request(Inquiry(account: account, request: request), RetryBackoff())
      return (flow, answer)
    } catch {
      return (flow, .fail(error))
    }
  }

  private static func person(
    _ params: Params, _ provider: ProviderName
  ) throws(Failure) -> ProfileRequest.Person {
    do throws(InvalidValue) {
      return switch (params.freedomId, params.phone) {
      case (let id?, nil): .freedomID(try FreedomParameter.uuid(id, "freedomId"))
      case (nil, let phone?): .phone(try FreedomParameter.phone(phone, "phone"))
      case (nil, nil), (.some, .some):
        throw InvalidValue("exactly one of freedomId and phone must be given")
      }
    } catch {
      throw .invalid(error.message, provider)
    }
  }

  package var view: FlowView {
    switch state {
    case nil, .requested: waiting("requested", for: "the request to reach the provider")
    case .pending: waiting("pending", for: "the person's answer")
    }
  }

  package mutating func receive(_ event: Event, at transition: inout TransitionContext) -> Answer {
    switch state {
    case nil: .ignore
    case .requested(let inquiry, let retrying):
      requesting(event, inquiry, retrying, transition.now)
    case .pending(let inquiry, let isAsking): pending(event, inquiry, isAsking, transition.now)
    }
  }

  /// The deadline for the other person's answer, which is longer than that of a sign-in.
  package var endsAt: Timestamp? {
    switch state {
    case nil: nil
    case .requested(let inquiry, _), .pending(let inquiry, _):
      inquiry.request.createdAt + .seconds(provider.settings.requestSeconds)
    }
  }

  package var unknownOutcome: String? {
    guard case .requested(_, let retrying) = state, !retrying.isPaused else { return nil }
    return "the person may be asked for the profile all the same"
  }
}

// MARK: - The request

extension FreedomRequestProfile {
  private mutating func request(_ inquiry: Inquiry, _ retrying: RetryBackoff) -> Answer {
    state = .requested(inquiry, retrying.resumed)
    return .proceed([.call(.profile(inquiry.account, inquiry.request))])
  }

  private mutating func requesting(
    _ event: Event, _ inquiry: Inquiry, _ retrying: RetryBackoff, _ now: Timestamp
  ) -> Answer {
    if event.repeatsCall(retrying) { return request(inquiry, retrying) }
    let call = FreedomPartnerCall.profile(inquiry.account, inquiry.request)
    return event.outcome(of: call, retrying).map { answered($0, inquiry, retrying, now) } ?? .ignore
  }
}

// MARK: - The answer

extension FreedomRequestProfile {
  private mutating func pollStatus(_ inquiry: Inquiry) -> Answer {
    state = .pending(inquiry, isAsking: true)
    return .proceed([.call(inquiry.status)])
  }

  /// Waits before the next poll. Who has not answered within ten minutes may answer hours later, so
  /// the pause is then at least a minute.
  ///
  /// - Parameter requested: The pause that Freedom ID requests with `Retry-After`.
  private mutating func wait(
    _ inquiry: Inquiry, _ now: Timestamp, requested: Duration? = nil
  ) -> Answer {
    state = .pending(inquiry, isAsking: false)
    let isLate = now >= inquiry.request.createdAt + .seconds(600)
    let pause = Duration.seconds(max(provider.settings.pollSeconds, isLate ? 60 : 0))
    return .proceed([.wake(after: RetryBackoff.pause(pause, requested: requested))])
  }

  private mutating func pending(
    _ event: Event, _ inquiry: Inquiry, _ isAsking: Bool, _ now: Timestamp
  ) -> Answer {
    switch event {
    case .provider(.called(inquiry.status, let outcome)) where isAsking:
      return answered(outcome, inquiry, nil, now)
    case .woken where !isAsking, .daemon(.resumed): return pollStatus(inquiry)
    case .input, .browser, .provider, .daemon, .woken: return .ignore
    }
  }

  /// Handles the reply to the request or to a poll.
  ///
  /// - Parameter retrying: The failed attempts to send the request; nil if the reply answers a
  ///   poll.
  private mutating func answered(
    _ outcome: CallOutcome, _ inquiry: Inquiry, _ retrying: RetryBackoff?, _ now: Timestamp
  ) -> Answer {
    let personalData = FreedomPartnerCall.profile(inquiry.account, inquiry.request).personalData
    switch FreedomIDReply(outcome, hiding: personalData) {
    case .success(let members):
      problem = nil
      guard inquiry.isMatch(for: members) else { return .fail(.otherRequest(provider.name)) }
      let message = members["status_message"]?.stringValue
      switch (members["status"]?.stringValue, retrying == nil) {
      case ("pending", _): return wait(inquiry, now)
      case ("rejected", _): return .fail(.refusedProfile(message, provider.name))
      case ("accepted", false): return pollStatus(inquiry)
      case ("completed", true): return finish(members, inquiry)
      case ("failed", true):
        return .fail(.rejected("the profile could not be obtained", says: message, provider.name))
      case ("not_found", true):
        return .fail(
          .rejected("the provider does not know the request", says: message, provider.name))
      default: return .fail(.noStatus(provider.name))
      }
    case .refused(let refusal):
      return .fail(.refused(refusal, as: refusal.tokenErrorCode, provider.name))
    case .failed(let fault):
      guard let retrying else {
        // Freedom ID may be reachable again before the other user decides, so polling continues.
        problem = .unreachable(fault, provider.name)
        return wait(inquiry, now, requested: fault.retryAfter)
      }
      return retry(retrying, .unreachable(fault, provider.name), after: fault.retryAfter) {
        $0.state = .requested(inquiry, $1)
      }
    case .unreadable(let flaw): return .fail(.unusable(flaw, provider.name))
    case .noToken(let message): return .fail(.noToken(message, provider.name))
    }
  }

  private func finish(_ members: [String: JSONValue], _ inquiry: Inquiry) -> Answer {
    guard let person = members["freedom_id"]?.stringValue,
      let fields = members["profile"]?.objectValue
    else {
      return .fail(
        .unusable(
          "the provider's answer has no freedom_id or no profile", .parsingError, provider.name))
    }
    if case .freedomID(let requested) = inquiry.request.person,
      requested.lowercased() != person.lowercased()
    {
      return .fail(.contradiction("the provider's answer is about another person", provider.name))
    }
    let granted = inquiry.request.grants.filter { fields.keys.contains($0.field) }
    do throws(UnusableReply) {
      let profile = try FreedomGrantedProfile(fields, granted: granted)
      return .finish(
        Completion(
          grant: nil,
          result: [
            "requestId": .string(inquiry.request.id),
            "freedomId": .string(ProviderText.clean(person, limit: 128)),
            "granted": .array(granted.map { .string($0.rawValue) }),
            "profile": .object(profile.members),
          ]))
    } catch {
      return .fail(.unusable(error.message, .parsingError, provider.name))
    }
  }
}

extension Failure {
  fileprivate static func otherRequest(_ provider: ProviderName) -> Failure {
    .contradiction("the provider's answer is about another request", provider)
  }

  fileprivate static func noStatus(_ provider: ProviderName) -> Failure {
    .unusable("the provider's answer has no known status", .parsingError, provider)
  }

  fileprivate static func refusedProfile(_ text: String?, _ provider: ProviderName) -> Failure {
    var failure = Failure.denied("the person does not share the profile", provider)
    guard let sentence = ProviderText.shown(text) else { return failure }
    failure.message = sentence
    failure.provider?.message = sentence
    return failure
  }
}

public import JSONRPC

/// The properties of a method, other than its parameters, that the daemon, its policy, its audit
/// log and its clients need. They are declared only here: there is no second list of methods.
public struct MethodTraits: Sendable, Hashable {
  /// The sockets that offer the method.
  public var access: Access
  /// The callers that may call the method if no client rule of the policy matches them.
  public var audience = Audience.allowedCallers
  /// Whether a client may repeat a call that the daemon may have performed already.
  public var repetition = Repetition.never
  /// Which decisions of the policy about the method are recorded in the audit log.
  public var audit = AuditScope.denials
  /// Whether a rule with `confirm = true` requires a person to confirm the call before it runs.
  public var isConfirmable = false
  /// Whether the reply contains a secret by which its holder can act as the owner of an account,
  /// such as a token.
  public var handsOutSecret = false
  /// Whether the reply contains members of a person's profile. A rule's `fields` can restrict them.
  public var showsProfiles = false
  /// Whether a client may call this method also for accounts that another client owns and shares
  /// with it (`share` in the rule of the client that owns them).
  public var readsSharedAccounts = false
  /// Whether a client that may start a flow may also call this method for that flow, as
  /// `flow.submit` for example.
  public var followsFlowStart = false
  /// Whether the method can be called while the daemon is locked.
  public var worksLocked = false
  /// The method whose permission this method needs, for a method that gives its caller nothing
  /// more; nil for a permission of its own.
  public var permittedAs: String?

  /// Whether a call is about what a tool asks for, such as `git` and a URL. A pattern of a client
  /// rule then names that in place of a provider.
  public var namesTarget = false

  /// The traits that are used for an unknown method name.
  public static let unknown = MethodTraits(access: .app)

  /// The callers that may call a method if no client rule of the policy matches them.
  public enum Audience: Sendable, Hashable {
    /// Root, the daemon's own user and the members of `access.group`.
    case allowedCallers
    /// Every caller that can connect, whatever the policy says.
    case everybody
    /// Root and the daemon's own user.
    case operators
  }

  /// Whether a call that the daemon may have performed already can be repeated without harm.
  public enum Repetition: Sendable, Hashable {
    case always, never
    /// The call can be repeated if it has this parameter.
    case ifGiven(String)
    /// The call can be repeated if it has none of these parameters, or only false ones.
    case without([String])

    /// Returns whether a call with these parameters may be repeated.
    public func allows(_ params: JSONValue) -> Bool {
      switch self {
      case .always: true
      case .never: false
      case .ifGiven(let member): params[member]?.stringValue != nil
      case .without(let members):
        members.allSatisfy { params[$0]?.isNull ?? true || params[$0]?.boolValue == false }
      }
    }
  }

  /// Which decisions of the policy about a method are recorded in the audit log.
  public enum AuditScope: Sendable, Hashable {
    /// Only the denials of calls.
    case denials
    /// All decisions. The daemon refuses the method while the audit log cannot accept more entries.
    case everything
    /// The same as `everything`, but similar successful calls share one row.
    case everythingAggregated
  }
}

/// The methods that the daemon's sockets offer.
public enum Methods {
  /// Every method, by name.
  public static let all: [any Method.Type] = [
    AccountForget.self, AccountGet.self, AccountList.self, AuditList.self, AuditVerify.self,
    ClientClear.self, ConfirmAnswer.self, ConfirmForget.self, ConfirmList.self, ConsentList.self,
    ConsentRevoke.self, CredentialDelete.self, CredentialList.self, CredentialSet.self,
    EventsSubscribe.self, EventsUnsubscribe.self, FlowCancel.self, FlowGet.self, FlowList.self,
    FlowStart.self, FlowSubmit.self, FlowWait.self, KeyCreateRecovery.self,
    LocalAuthSetPasscode.self, LocalAuthStatus.self, OwnerAccept.self, OwnerForget.self,
    OwnerList.self, PolicyCheck.self, PolicyList.self, ProviderCheck.self,
    ProviderClientMetadata.self, ProviderGet.self, ProviderJWKS.self,
    ProviderList.self, ProviderRegister.self, ProviderUnregister.self,
    RegistrationCheckDuplicate.self, RegistrationCheckUserKey.self,
    RPCCancel.self, RPCDiscover.self, RPCHello.self, SystemBackup.self, SystemLock.self,
    SystemReload.self, SystemStatus.self, SystemUnlock.self, TargetList.self, TargetResolve.self,
    TokenForTarget.self, TokenGet.self, TokenList.self,
    TokenProof.self, TokenRevoke.self, TOTPCode.self, TOTPList.self,
  ]

  private static let byName = Dictionary(uniqueKeysWithValues: all.map { ($0.name, $0.traits) })

  /// Returns the traits of the method with a name, or ``MethodTraits/unknown`` if there is none.
  public static func traits(of name: String) -> MethodTraits { byName[name] ?? .unknown }
}

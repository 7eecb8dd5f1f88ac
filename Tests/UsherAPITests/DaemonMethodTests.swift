import JSONRPC
import Testing
import UsherAPI
import UsherCore
import UsherTestKit

@Suite("Methods of the daemon on the wire")
struct DaemonMethodTests {
  private let work = ProviderName("work")

  @Test("rpc.hello")
  func hello() {
    checkWire(RPCHello(), "{}")
    checkWire(
      RPCHello(protocol: [1], client: RPCHello.Client(name: "till", version: "2.1")),
      #"{"protocol":[1],"client":{"name":"till","version":"2.1"}}"#)
    checkWire(
      RPCHello.Reply(
        protocol: 1, server: RPCHello.Server(version: "0.1"), limits: ["batch_max": 64],
        instanceId: "ins_1"),
      #"{"protocol":1,"server":{"version":"0.1"},"limits":{"batch_max":64},"instanceId":"ins_1"}"#)
  }

  @Test("rpc.cancel and rpc.discover")
  func cancelAndDiscover() {
    checkWire(RPCCancel(id: 7), #"{"id":7}"#)
    checkWire(RPCCancel(id: "seven"), #"{"id":"seven"}"#)
    checkWire(Done(), "{}")
    checkWire(RPCDiscover(), "{}")
    checkWire(NoParams(), "{}")
  }

  @Test("system.status")
  func status() {
    checkWire(SystemStatus(), "{}")
    var reply = SystemStatus.Reply(
      version: "0.1", uptimeSeconds: 5, ready: true,
      providers: [SystemStatus.Provider(name: work, type: "oidc", health: .ok)], flows: 1,
      connections: 2)
    checkWire(
      reply,
      """
      {"version":"0.1","uptimeSeconds":5,"ready":true,
       "providers":[{"name":"work","type":"oidc","health":"ok"}],"flows":1,"connections":2}
      """)
    reply.providers = []
    reply.store = SystemStatus.Store(path: "usher.db", schemaVersion: 1, sizeBytes: 4096)
    reply.masterKey = "systemd"
    reply.hasRecoveryKey = true
    reply.peerIdentity = "pidfd"
    checkWire(
      reply,
      """
      {"version":"0.1","uptimeSeconds":5,"ready":true,"providers":[],"flows":1,"connections":2,
       "store":{"path":"usher.db","schemaVersion":1,"sizeBytes":4096},"masterKey":"systemd",
       "hasRecoveryKey":true,"peerIdentity":"pidfd"}
      """)
    reply = SystemStatus.Reply(
      version: "0.1", uptimeSeconds: 5, ready: false, locked: true, providers: [], flows: 0,
      connections: 2)
    checkWire(
      reply,
      """
      {"version":"0.1","uptimeSeconds":5,"ready":false,"locked":true,"providers":[],"flows":0,
       "connections":2}
      """)
    checkWire(SystemStatus.Health.allCases, #"["ok","unknown","failing"]"#)
  }

  @Test("system.lock and system.unlock")
  func lock() {
    checkWire(SystemLock(), "{}")
    checkWire(SystemUnlock(), "{}")
    let unlock = SystemUnlock(passcode: WireSecret("till-4711"))
    checkWire(unlock, #"{"passcode":"till-4711"}"#)
    #expect(!String(describing: unlock).contains("4711"))
  }

  @Test("system.reload")
  func reload() {
    checkWire(SystemReload(), "{}")
    checkWire(SystemReload.Reply(problems: []), #"{"problems":[]}"#)
    checkWire(
      SystemReload.Reply(problems: [
        .init(
          file: "/etc/usherd/usherd.toml", line: 3, column: 8, key: "log.level",
          message: "must be a level"),
        .init(message: "an address is taken"),
      ]),
      """
      {"problems":[
        {"file":"/etc/usherd/usherd.toml","line":3,"column":8,"key":"log.level",
         "message":"must be a level"},
        {"message":"an address is taken"}]}
      """)
  }

  @Test("system.backup and key.createRecovery")
  func keeping() {
    checkWire(SystemBackup(), "{}")
    checkWire(
      SystemBackup.Reply(path: "/s/usherd.db.backup-1", bytes: 4096),
      #"{"path":"/s/usherd.db.backup-1","bytes":4096}"#)
    checkWire(KeyCreateRecovery(), "{}")
    checkWire(KeyCreateRecovery(replace: true), #"{"replace":true}"#)
    let reply = KeyCreateRecovery.Reply(recoveryKey: WireSecret("0000000-0000001"))
    checkWire(reply, #"{"recoveryKey":"0000000-0000001"}"#)
    #expect(!String(describing: reply).contains("0000001"))
  }

  @Test("provider.list, provider.get and provider.check")
  func providers() {
    let reply = ProviderGet.Reply(
      name: work, type: "oidc",
      flows: [ProviderGet.Flow(kind: "device", summary: "Sign in.", params: ["type": "object"])])
    let replyJSON = """
      {"name":"work","type":"oidc",
       "flows":[{"kind":"device","summary":"Sign in.","params":{"type":"object"}}]}
      """
    checkWire(ProviderGet(provider: work), #"{"provider":"work"}"#)
    checkWire(reply, replyJSON)
    checkWire(ProviderList(), "{}")
    checkWire(ProviderList.Reply(providers: [reply]), #"{"providers":[\#(replyJSON)]}"#)
    checkWire(ProviderCheck(provider: work), #"{"provider":"work"}"#)
    checkWire(
      ProviderCheck.Reply(
        provider: work, healthy: false,
        findings: [ProviderCheck.Finding(subject: "clock", fine: false, message: "5 s off")]),
      """
      {"provider":"work","healthy":false,
       "findings":[{"subject":"clock","fine":false,"message":"5 s off"}]}
      """)
  }

  @Test("credential.set, credential.list and credential.delete")
  func credentials() {
    checkWire(
      CredentialSet(name: "work", value: WireSecret("s3")), #"{"name":"work","value":"s3"}"#)
    checkWire(CredentialDelete(name: "work"), #"{"name":"work"}"#)
    checkWire(CredentialList(), "{}")
    checkWire(
      CredentialList.Reply(credentials: [
        CredentialList.Entry(name: "work", source: .store, setAt: started),
        CredentialList.Entry(name: "till", source: .systemd, setAt: nil),
      ]),
      """
      {"credentials":[{"name":"work","source":"store","setAt":"\(startedJSON)"},
                      {"name":"till","source":"systemd","setAt":null}]}
      """)
  }

  @Test("audit.list")
  func auditList() {
    checkWire(AuditList(), "{}")
    checkWire(
      AuditList(
        since: started, until: later, client: "till", uid: 1000, account: AccountID("acc_1"),
        method: "token.get", provider: work, denied: true, after: 7, limit: 10),
      """
      {"since":"\(startedJSON)","until":"\(laterJSON)","client":"till","uid":1000,
       "account":"acc_1","method":"token.get","provider":"work","denied":true,"after":7,"limit":10}
      """)
    let least = AuditList.Entry(
      n: 1, at: started, method: "credential.set", decision: .allowed, rule: "(admin)",
      outcome: "ok", client: "(user)", uid: 0, gid: 0, pid: 7)
    let leastJSON = """
      {"n":1,"at":"\(startedJSON)","method":"credential.set","decision":"allowed",
       "rule":"(admin)","outcome":"ok","client":"(user)","uid":0,"gid":0,"pid":7,"count":1}
      """
    let most = AuditList.Entry(
      n: 2, at: later, method: "token.get", provider: work, kind: "login",
      account: AccountID("acc_1"), scope: "openid", fields: ["phone"], decision: .denied,
      rule: "till", conditions: ["local_auth": false, "confirm": true],
      outcome: "interaction_required", client: "till", uid: 1000, gid: 100, pid: 8,
      unit: "till.service", invocation: "4f", executable: "/usr/bin/till", flow: FlowID("flw_1"),
      correlationId: CorrelationID("cor_1"), count: 3)
    let mostJSON = """
      {"n":2,"at":"\(laterJSON)","method":"token.get","provider":"work","kind":"login",
       "account":"acc_1","scope":"openid","fields":["phone"],"decision":"denied","rule":"till",
       "conditions":{"local_auth":false,"confirm":true},"outcome":"interaction_required",
       "client":"till","uid":1000,"gid":100,"pid":8,"unit":"till.service","invocation":"4f",
       "executable":"/usr/bin/till","flow":"flw_1","correlationId":"cor_1","count":3}
      """
    checkWire(AuditList.Reply(rows: [least]), #"{"rows":[\#(leastJSON)]}"#)
    checkWire(
      AuditList.Reply(rows: [least, most], unreadable: [3], next: 4),
      #"{"rows":[\#(leastJSON),\#(mostJSON)],"unreadable":[3],"next":4}"#)
  }

  @Test("audit.verify")
  func auditVerify() {
    checkWire(AuditVerify(), "{}")
    checkWire(
      AuditVerify.Reply(whole: true, begunAt: started, findings: []),
      #"{"whole":true,"begunAt":"\#(startedJSON)","findings":[]}"#)
    checkWire(
      AuditVerify.Reply(
        whole: false, first: 1, last: 9, begunAt: started,
        findings: [.init(n: 4, message: "row 4 is gone"), .init(message: "the head is gone")]),
      """
      {"whole":false,"first":1,"last":9,"begunAt":"\(startedJSON)",
       "findings":[{"n":4,"message":"row 4 is gone"},{"message":"the head is gone"}]}
      """)
  }

  @Test("owner.list, owner.accept and owner.forget")
  func owners() {
    checkWire(OwnerList(), "{}")
    checkWire(
      OwnerList.Reply(owners: [
        OwnerList.Entry(
          uid: 1000, user: "anna", recordedAt: started, state: .changed, now: "ben",
          changedAt: later),
        OwnerList.Entry(uid: 1001, user: nil, recordedAt: started, state: .same),
      ]),
      """
      {"owners":[
       {"uid":1000,"user":"anna","recordedAt":"\(startedJSON)","state":"changed","now":"ben",
        "changedAt":"\(laterJSON)"},
       {"uid":1001,"user":null,"recordedAt":"\(startedJSON)","state":"same"}]}
      """)
    checkWire(
      OwnerList.Entry.State.allCases,
      #"["same","changed","gone","unconfirmed","beingForgotten"]"#)
    checkWire(OwnerAccept(uid: 1000), #"{"uid":1000}"#)
    checkWire(OwnerAccept.Reply(uid: 1000, user: nil), #"{"uid":1000,"user":null}"#)
    checkWire(OwnerForget(uid: 1000), #"{"uid":1000}"#)
    checkWire(
      OwnerForget.Reply(uid: 1000, accounts: 2, notRevoked: 1, flows: 3),
      #"{"uid":1000,"accounts":2,"notRevoked":1,"flows":3}"#)
  }

  @Test("events.subscribe, events.unsubscribe")
  func events() {
    checkWire(EventsSubscribe(topics: []), #"{"topics":[]}"#)
    checkWire(
      EventsSubscribe(topics: EventTopic.allCases, since: 41),
      #"{"topics":["flow","account","token","provider","confirm","kyc"],"since":41}"#)
    checkWire(
      EventsSubscribe.Reply(subscription: "sub_1", cursor: 41),
      #"{"subscription":"sub_1","cursor":41}"#)
    checkWire(EventsUnsubscribe(subscription: "sub_1"), #"{"subscription":"sub_1"}"#)
  }

  @Test("each method's name, socket and summary are as the contract has them")
  func names() {
    #expect(
      allMethods.map { $0.name } == [
        "account.forget", "account.get", "account.list", "audit.list", "audit.verify",
        "client.clear", "confirm.answer", "confirm.forget", "confirm.list", "consent.list",
        "consent.revoke", "credential.delete", "credential.list", "credential.set",
        "events.subscribe", "events.unsubscribe", "flow.cancel", "flow.get", "flow.list",
        "flow.start", "flow.submit", "flow.wait", "key.createRecovery", "localAuth.setPasscode",
        "localAuth.status", "owner.accept", "owner.forget", "owner.list", "policy.check",
        "policy.list", "provider.check", "provider.get", "provider.list",
        "registration.checkDuplicate", "registration.checkUserKey", "rpc.cancel", "rpc.discover",
        "rpc.hello", "system.backup", "system.lock", "system.reload", "system.status",
        "system.unlock", "token.get", "token.list", "token.revoke", "totp.code", "totp.list",
      ])
    #expect(
      allMethods.filter { $0.access == .admin }.map { $0.name } == [
        "audit.list", "audit.verify", "credential.delete", "credential.list", "credential.set",
        "key.createRecovery", "owner.accept", "owner.forget", "owner.list", "policy.check",
        "policy.list", "provider.check", "system.backup", "system.reload",
      ])
    for method in allMethods {
      #expect(method.summary.first?.isUppercase == true && method.summary.hasSuffix("."))
    }
  }
}

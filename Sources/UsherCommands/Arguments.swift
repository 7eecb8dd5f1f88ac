public import ArgumentParser
public import UsherAPI
public import UsherCore

// Types of the RPC contract as arguments of commands. The argument is the raw value.

extension AccountID: ExpressibleByArgument {}
extension ConfirmationID: ExpressibleByArgument {}
extension EventTopic: ExpressibleByArgument {}
extension FlowID: ExpressibleByArgument {}
extension FlowStatus: ExpressibleByArgument {}
extension ProviderName: ExpressibleByArgument {}

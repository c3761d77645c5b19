-- Gives the logins of roles.sql the passwords that the environment has. For psql 15 and later, which reads them without a command
-- line that others could see.
\getenv owner MILLRACE_OWNER_PASSWORD
\getenv ingress MILLRACE_INGRESS_PASSWORD
\getenv worker MILLRACE_WORKER_PASSWORD
\getenv retention MILLRACE_RETENTION_PASSWORD
\getenv dashboard MILLRACE_DASHBOARD_PASSWORD

ALTER ROLE millrace_owner PASSWORD :'owner';
ALTER ROLE millrace_ingress PASSWORD :'ingress';
ALTER ROLE millrace_worker PASSWORD :'worker';
ALTER ROLE millrace_retention PASSWORD :'retention';
ALTER ROLE millrace_dashboard PASSWORD :'dashboard';
